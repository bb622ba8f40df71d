/** TOML: smol-toml judges and reads it, and here the statements of a file that it has accepted are located. */
import { parse, TomlError } from 'smol-toml';
import { lineEndAt, lineStart } from './lines.ts';
import { EditRefused } from './refuse.ts';

/** A table header, `[a.b]` or `[[a.b]]`, or a pair `a.b = value`. Keys are absolute. */
export type Statement = {
  readonly kind: 'table' | 'array' | 'pair';
  /** Absolute path: of a pair, the table’s and its own. */
  readonly path: readonly string[];
  /** How many keys of the path are written here: all of a header’s, of a pair those before its "=". */
  readonly written: number;
  readonly start: number;
  /** Of a pair its value, of a header the brackets. */
  readonly value: { readonly start: number; readonly end: number };
};

/** The data as plain objects; what does not parse is refused at its place. */
export function readTomlValue(text: string): unknown {
  try {
    return plain(parse(text, { integersAsBigInt: 'asNeeded' }));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = (error.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', '');
    const offset = offsetOf(text, error.line, error.column);
    if (!/redefine|already|duplicate/.test(message)) throw new EditRefused('syntax_error', message, offset);
    const begin = lineStart(text, offset);
    const indent = /^[ \t]*/.exec(text.slice(begin))?.[0].length ?? 0;
    const start = text[begin + indent] === '[' ? begin + indent : offset;
    const key = readKey(text, start + (/^\[*/.exec(text.slice(start))?.[0].length ?? 0)).path.join('.');
    throw new EditRefused('duplicate_key', `'${key}' is there twice`, start);
  }
}

function offsetOf(text: string, line: number, column: number): number {
  let at = 0;
  for (let count = 1; count < line; count += 1) at = text.indexOf('\n', at) + 1;
  return at + column - 1;
}

// smol-toml's tables have no prototype, and the proof compares prototypes too.
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Every statement of a file that parses, in order. */
export function statements(text: string): Statement[] {
  const found: Statement[] = [];
  let table: readonly string[] = [];
  for (let at = skipVoid(text, 0); at < text.length; at = skipVoid(text, at)) {
    const start = at;
    if (text[at] === '[') {
      const array = text[at + 1] === '[';
      const { path, end } = readKey(text, at + (array ? 2 : 1));
      at = end + (array ? 2 : 1);
      table = path;
      found.push({
        kind: array ? 'array' : 'table',
        path,
        written: path.length,
        start,
        value: { start, end: at },
      });
    } else {
      const { path, end } = readKey(text, at);
      const value = skipBlanks(text, end + 1);
      at = valueEnd(text, value);
      found.push({
        kind: 'pair',
        path: [...table, ...path],
        written: path.length,
        start,
        value: { start: value, end: at },
      });
    }
  }
  return found;
}

/** The pairs of an inline table whose brace opens at `open`, with paths as written. */
export function inlinePairs(text: string, open: number): Statement[] {
  const found: Statement[] = [];
  let at = skipVoid(text, open + 1);
  while (text[at] !== '}') {
    const { path, end } = readKey(text, at);
    const value = skipVoid(text, end + 1);
    const close = valueEnd(text, value);
    found.push({ kind: 'pair', path, written: path.length, start: at, value: { start: value, end: close } });
    at = skipVoid(text, close);
    if (text[at] === ',') at = skipVoid(text, at + 1);
  }
  return found;
}

/** The end of the comment that begins at `offset`, or null. */
export function tomlComment(text: string, offset: number): number | null {
  return text[offset] === '#' ? lineEndAt(text, offset).content : null;
}

/** Over white space, line breaks and comments. */
function skipVoid(text: string, offset: number): number {
  let at = offset;
  while (at < text.length && /[ \t\r\n#]/.test(text[at] as string)) at = tomlComment(text, at) ?? at + 1;
  return at;
}

function skipBlanks(text: string, offset: number): number {
  let at = offset;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}

/** A dotted key, and the offset of what follows it: "=" or "]". */
function readKey(text: string, offset: number): { path: string[]; end: number } {
  const path: string[] = [];
  for (let at = skipBlanks(text, offset); ; at = skipBlanks(text, at + 1)) {
    const end = keyPartEnd(text, at);
    const part = text.slice(at, end);
    path.push(/^["']/.test(part) ? String(Object.keys(parse(`${part} = 0`))[0]) : part);
    at = skipBlanks(text, end);
    if (text[at] !== '.') return { path, end: at };
  }
}

function keyPartEnd(text: string, offset: number): number {
  if (text[offset] === '"' || text[offset] === "'") return stringEnd(text, offset);
  let at = offset;
  while (/[A-Za-z0-9_-]/.test(text[at] ?? '')) at += 1;
  return at;
}

function valueEnd(text: string, offset: number): number {
  const first = text[offset];
  if (first === '"' || first === "'") return stringEnd(text, offset);
  if (first !== '[' && first !== '{') {
    const end = offset + text.slice(offset).search(/[,\]}#\r\n]|$/);
    return offset + text.slice(offset, end).trimEnd().length;
  }
  let depth = 0;
  for (let at = offset; ; at = skipVoid(text, at)) {
    const character = text[at] as string;
    if (character === '"' || character === "'") at = stringEnd(text, at);
    else {
      depth += character === '[' || character === '{' ? 1 : character === ']' || character === '}' ? -1 : 0;
      at += 1;
      if (depth === 0) return at;
    }
  }
}

/** One of the four kinds of strings. */
function stringEnd(text: string, offset: number): number {
  const quote = text[offset] as string;
  const triple = text.startsWith(quote.repeat(3), offset);
  let at = offset + (triple ? 3 : 1);
  while (!text.startsWith(triple ? quote.repeat(3) : quote, at))
    at += text[at] === '\\' && quote === '"' ? 2 : 1;
  if (!triple) return at + 1;
  // Up to two quotes may stand before the closing three.
  while (text[at + 3] === quote) at += 1;
  return at + 3;
}
