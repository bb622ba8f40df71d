/** Patterns of pgrep, grep and killall against text: in bounded time whatever the pattern is. */
import { compilePattern } from '../../policy/pattern/pattern.ts';
import { fillHoles } from './holes.ts';

export type Match = {
  /** The whole text must match, not a part of it. */
  readonly whole?: boolean | undefined;
  readonly anyCase?: boolean | undefined;
};

/** Different patterns of one command; more are taken for matching. */
const most = 48;
const longest = 400;

type Matcher = (text: string) => boolean;

export class Patterns {
  readonly #made = new Map<string, Matcher>();

  /** An extended regular expression as a test; one that can't be decided is true. */
  compile(source: string, { whole = false, anyCase = false }: Match = {}): Matcher {
    const key = JSON.stringify([source, whole, anyCase]);
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    if (this.#made.size >= most || source.length > longest) return () => true;
    const made = build(source, whole, anyCase);
    this.#made.set(key, made);
    return made;
  }
}

function build(source: string, whole: boolean, anyCase: boolean): Matcher {
  const folded = anyCase ? source.toLowerCase() : source;
  const expression = toJs(fillHoles(folded, '.*'));
  // Without the flag m anchors keep to the text's ends inside `.*( ).*` too.
  const anchored = whole ? expression : `.*(?:${expression}).*`;
  const result = compilePattern(anchored, true);
  if (!('pattern' in result)) return () => true;
  const { matches } = result.pattern;
  return (text) => matches(anyCase ? text.toLowerCase() : text) !== false;
}

const posix: Readonly<Record<string, string>> = {
  alpha: 'A-Za-z',
  digit: '0-9',
  alnum: 'A-Za-z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  space: '\\s',
  blank: ' \\t',
  punct: '!-\\/:-@\\[-`{-~',
  xdigit: '0-9A-Fa-f',
  word: 'A-Za-z0-9_',
};

/** POSIX extended to JavaScript (flag u): classes, bracket rules, escapes that are unknown there. */
export function toJs(source: string): string {
  let out = '';
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at] ?? '';
    if (character === '\\') {
      const next = source[at + 1] ?? '';
      at += 1;
      if (next === '<' || next === '>') out += '\\b';
      else if (/[bBdDsSwW]/.test(next)) out += `\\${next}`;
      else if (next === 'K') continue;
      else out += escaped(next === '' ? '\\' : next);
    } else if (character === '[') {
      const bracket = bracketAt(source, at);
      if (bracket === null) out += '\\[';
      else {
        out += bracket.expression;
        at = bracket.end;
      }
    } else if (/[{}]/.test(character) && !/^\{\d*,?\d*\}/.test(source.slice(at)) && !/\{\d*,?\d*$/.test(out))
      out += `\\${character}`;
    else if (character === ']') out += '\\]';
    else out += character;
  }
  return out;
}

function escaped(character: string): string {
  return /[\^$\\.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}

function bracketAt(source: string, start: number): { expression: string; end: number } | null {
  let at = start + 1;
  let body = '';
  if (source[at] === '^') {
    body = '^';
    at += 1;
  }
  for (let first = true; at < source.length; first = false) {
    const character = source[at] ?? '';
    if (character === ']' && !first) return { expression: `[${body}]`, end: at };
    const [whole, name] = /^\[:([a-z]+):\]/.exec(source.slice(at, at + 12)) ?? [];
    if (whole !== undefined && name !== undefined) {
      body += posix[name] ?? 'A-Za-z0-9';
      at += whole.length;
      continue;
    }
    body += /[\\\][^&]/.test(character) ? `\\${character}` : character;
    at += 1;
  }
  return null;
}

/** A glob of a file or unit name as a test of the whole text; linear, since only `*` is free. */
export function globMatches(glob: string, text: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let mark = 0;
  while (from < text.length) {
    const step = at < glob.length ? oneOf(glob, at) : null;
    if (glob[at] === '*') {
      star = at;
      mark = from;
      at += 1;
    } else if (step !== null && step.test(text[from] ?? '')) {
      at = step.next;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      mark += 1;
      from = mark;
    } else return false;
  }
  while (glob[at] === '*') at += 1;
  return at >= glob.length;
}

function oneOf(glob: string, at: number): { next: number; test(character: string): boolean } {
  const character = glob[at] ?? '';
  if (character === '?') return { next: at + 1, test: () => true };
  const end = character === '[' ? glob.indexOf(']', at + 2) : -1;
  if (end < 0) return { next: at + 1, test: (other) => other === character };
  const negated = /[!^]/.test(glob[at + 1] ?? '');
  const members = glob.slice(at + (negated ? 2 : 1), end);
  return { next: end + 1, test: (other) => inSet(members, other) !== negated };
}

function inSet(members: string, character: string): boolean {
  for (let at = 0; at < members.length; at += 1) {
    const low = members[at] ?? '';
    const high = members[at + 1] === '-' ? members[at + 2] : undefined;
    if (high !== undefined && character >= low && character <= high) return true;
    if (character === low) return true;
  }
  return false;
}
