/** Secrets out of a command line: by the name in front of the value, by place, by shape. Everything else stays. */
import { findAll, makeTriggers } from '../../scrub/triggers.ts';
import { attemptShape, shapes } from '../../scrub/shapes.ts';
import { startsOf } from '../../scrub/starts.ts';

type Span = { readonly start: number; readonly end: number };

const mark = '[redacted]';

/** Words of a name that say that its value is secret. */
const secretWord =
  /(?:^|[-_.])(?:token|secret|secrets|password|passwd|passphrase|pass|credential|credentials|authorization|bearer|cookie|session[-_]?key|api[-_]?key|apikey|access[-_]?key|secret[-_]?key|private[-_]?key|signing[-_]?key|encryption[-_]?key|key[-_]?secret|client[-_]?secret|otp|jwt)(?:$|[-_.])/i;

/** `TOKENIZER` and `PASSENGER` are other words; `MAX_TOKENS` counts. */
export function isSecretName(name: string): boolean {
  return secretWord.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')) || /[_-]pat$/i.test(name);
}

/** The command with each secret replaced by `[redacted]`. */
export function redactCommand(command: string): string {
  const quotes = openQuotes(command);
  const spans = [
    ...named(command, quotes),
    ...options(command, quotes),
    ...placed(command),
    ...shaped(command),
  ].sort((a, b) => a.start - b.start || b.end - a.end);
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
function* named(command: string, quotes: Uint8Array): Generator<Span> {
  let covered = 0;
  for (const match of command.matchAll(/(?<![\w.$-])(-{0,2}[A-Za-z_][\w.-]{0,80}?)(\+?=)/g)) {
    const start = match.index + match[0].length;
    // What lies inside a value is gone with it.
    if (match.index < covered || !isSecretName((match[1] ?? '').replace(/^-+/, ''))) continue;
    const end = valueEnd(command, start, quotes);
    covered = end;
    if (holds(command.slice(start, end))) yield { start, end };
  }
}

/** --password VALUE, -H 'Authorization: …' apart, `-u NAME:PASSWORD`. */
function* options(command: string, quotes: Uint8Array): Generator<Span> {
  for (const match of command.matchAll(/(?<![\w-])--?([A-Za-z][\w-]{1,60})[ \t]+(?=[^\s-])/g)) {
    const start = match.index + match[0].length;
    const name = match[1] ?? '';
    // These take no value, or the name of a file.
    if (!isSecretName(name) || /^no-|-(?:stdin|prompt|file|path|env|fd)$/.test(name)) continue;
    const end = valueEnd(command, start, quotes);
    if (holds(command.slice(start, end))) yield { start, end };
  }
  if (/\b(?:curl|wget|http|https)\b/.test(command))
    for (const match of command.matchAll(
      /(?<![\w-])(?:-u|--user|--proxy-user)[ =]?(["']?)([^\s:"'@/$]{1,80}):([^\s"'$]+)/g,
    )) {
      const end = match.index + match[0].length;
      yield { start: end - (match[3] ?? '').length, end };
    }
}

/** Where a value that begins at `start` ends, as the shell has it; inside other quotes at their end. */
function valueEnd(command: string, start: number, quotes: Uint8Array): number {
  const code = quotes[start] ?? 0;
  const outer = code === 0 ? null : String.fromCharCode(code);
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

/** For each place of a command the quote that is open there, as a character code; 0 for none. */
function openQuotes(command: string): Uint8Array {
  const open = new Uint8Array(command.length + 1);
  let quote = '';
  for (let at = 0; at < command.length; at += 1) {
    open[at] = quote === '' ? 0 : quote.charCodeAt(0);
    const character = command[at] ?? '';
    if (character === '\\' && quote !== "'") {
      at += 1;
      open[at] = open[at - 1] ?? 0;
    } else if (quote === '' && (character === '"' || character === "'")) quote = character;
    else if (character === quote) quote = '';
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
  for (const match of command.matchAll(
    /\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?[A-Za-z]{3,20}[ \t]+([^\s"'$]{3,})/gi,
  )) {
    const end = match.index + match[0].length;
    yield { start: end - (match[1] ?? '').length, end };
  }
  // JSON
  for (const match of command.matchAll(/\\?"([A-Za-z][\w-]{1,60})\\?"\s{0,4}:\s{0,4}\\?"([^"\\]{1,400})/g)) {
    const end = match.index + match[0].length;
    if (isSecretName(match[1] ?? '') && holds(match[2] ?? ''))
      yield { start: end - (match[2] ?? '').length, end };
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
