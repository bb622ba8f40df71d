/** Secrets out of a command line: by the name in front of the value, by place, by shape. Everything else stays. */
import { findAll, makeTriggers } from '../../scrub/triggers.ts';
import { attemptShape, shapes } from '../../scrub/shapes.ts';
import { startsOf } from '../../scrub/starts.ts';

type Span = { readonly start: number; readonly end: number };

const mark = '[redacted]';

/** Words of a name that say that its value is secret. */
const secretWord =
  /(?:^|[-_.])(?:token|secret|secrets|password|passwd|passphrase|pass|pwd|pw|credential|credentials|authorization|auth|bearer|cookie|session[-_]?key|api[-_]?key|apikey|access[-_]?key|secret[-_]?key|private[-_]?key|signing[-_]?key|encryption[-_]?key|key[-_]?secret|client[-_]?secret|pat|otp|jwt)(?:$|[-_.])/i;

/** `TOKENIZER` and `PASSENGER` are other words; `MAX_TOKENS` counts. */
export function isSecretName(name: string): boolean {
  return secretWord.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'));
}

/** The command with each secret replaced by `[redacted]`. */
export function redactCommand(command: string): string {
  const spans = [...named(command), ...options(command), ...placed(command), ...shaped(command)].sort(
    (a, b) => a.start - b.start || b.end - a.end,
  );
  let out = '';
  let at = 0;
  for (const { start, end } of spans) {
    if (start < at) {
      at = Math.max(at, end);
      continue;
    }
    out += command.slice(at, start) + mark;
    at = end;
  }
  return out + command.slice(at);
}

/** A reference holds no secret; an empty value neither. */
function holds(value: string): boolean {
  return !/^["']?(?:\$(?:\w+|\{[^}]*\}|\([^)]*\))|\[redacted\]|["']?)["']?$/.test(value) && value !== '';
}

/** NAME=value and --name=value, quoted or not. */
function* named(command: string): Generator<Span> {
  for (const match of command.matchAll(/(?<![\w.$-])(-{0,2}[A-Za-z_][\w.-]{0,80}?)(\+?=)/g)) {
    const start = match.index + match[0].length;
    if (!isSecretName((match[1] ?? '').replace(/^-+/, ''))) continue;
    const end = valueEnd(command, start);
    if (holds(command.slice(start, end))) yield { start, end };
  }
}

/** --password VALUE, -H 'Authorization: …' apart, `-u NAME:PASSWORD`. */
function* options(command: string): Generator<Span> {
  for (const match of command.matchAll(/(?<![\w-])--?([A-Za-z][\w-]{1,60})[ \t]+(?=[^\s-])/g)) {
    const start = match.index + match[0].length;
    if (!isSecretName(match[1] ?? '')) continue;
    const end = valueEnd(command, start);
    if (holds(command.slice(start, end))) yield { start, end };
  }
  for (const match of command.matchAll(
    /(?<![\w-])(?:-u|--user|--proxy-user)[ =]?(["']?)([^\s:"'@/$]{1,80}):([^\s"'$]+)/g,
  )) {
    const end = match.index + match[0].length;
    yield { start: end - (match[3] ?? '').length, end };
  }
}

/** Where a value that begins at `start` ends, as the shell has it; inside other quotes at their end. */
function valueEnd(command: string, start: number): number {
  const outer = quoteAround(command, start);
  let at = start;
  while (at < command.length) {
    const character = command[at] ?? '';
    if (
      character === outer ||
      (outer === null && /[;&|<>()`]/.test(character)) ||
      (outer !== null && /[;&|]/.test(character))
    )
      break;
    if (/\s/.test(character)) break;
    if (character === '\\') at += 2;
    else if ((character === '"' || character === "'") && character !== outer) {
      const close = command.indexOf(character, at + 1);
      if (close < 0) return command.length;
      at = close + 1;
    } else if (command.startsWith('$(', at)) return at;
    else at += 1;
  }
  return Math.min(at, command.length);
}

/** The quote that is open at a place. */
function quoteAround(command: string, place: number): string | null {
  let open: string | null = null;
  // Far in front of it nothing matters: a line begins anew often enough.
  for (let at = Math.max(0, place - 2000); at < place; at += 1) {
    const character = command[at] ?? '';
    if (character === '\\' && open !== "'") at += 1;
    else if (open === null && (character === '"' || character === "'")) open = character;
    else if (character === open) open = null;
  }
  return open;
}

/** Passwords in URLs, and what stands behind `Bearer` and in headers. */
function* placed(command: string): Generator<Span> {
  for (const match of command.matchAll(
    /\b[a-z][a-z0-9+.-]{1,20}:\/\/([^\s/?#@:"'<>]{0,200}):([^\s/?#@"'<>]{1,300})@/gi,
  )) {
    const end = match.index + match[0].length - 1;
    if (holds(match[2] ?? '')) yield { start: end - (match[2] ?? '').length, end };
  }
  for (const match of command.matchAll(/\b(?:bearer|basic|token)[ \t]+([A-Za-z0-9._~+/=:-]{6,})/gi)) {
    const end = match.index + match[0].length;
    const value = match[1] ?? '';
    if (/^bearer/i.test(match[0]) || /\d/.test(value)) yield { start: end - value.length, end };
  }
  for (const match of command.matchAll(/(?<![\w-])([A-Za-z][\w-]{1,60}):[ \t]*([^\s"';&|]{4,})/g)) {
    const value = match[2] ?? '';
    const end = match.index + match[0].length;
    if (isSecretName(match[1] ?? '') && holds(value) && !/^(?:bearer|basic|token|\/\/)/i.test(value))
      yield { start: end - value.length, end };
  }
}

const tokens = makeTriggers(
  shapes.flatMap((shape) => {
    const attempt = attemptShape(shape);
    return startsOf(shape.head, shape.body).map((start) => ({ start, anyCase: false, attempt }));
  }),
);

function shaped(command: string): Span[] {
  return findAll(tokens, command, 0);
}
