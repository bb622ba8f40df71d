/** One line of a list of flags: names, what value they take, and where the description begins. */
import { scanOperand } from './operand.ts';
import { closing, isSpace } from './text.ts';
import type { FlagValue } from './types.ts';

export type ScannedFlag = {
  /** Empty for a pattern such as `--enable-FEATURE`. */
  readonly names: readonly string[];
  readonly value: FlagValue;
  readonly description: string;
  /** Offset in the text of the description; null where the line has none. */
  readonly at: number | null;
};

const maxNames = 12;

/**
 * Reads `text` from its first dash. `column` is the offset at which the descriptions of this list begin, where known:
 * a word that stands there is one, even behind a single space. Null where the line is no entry.
 */
export function scanFlag(text: string, column: number | null): ScannedFlag | null {
  const names: string[] = [];
  let value: FlagValue = 'none';
  let at = 0;
  while (names.length < maxNames) {
    const name = scanName(text, at);
    if (name === null) return null;
    const operand = scanOperand(text, name.end, column, name.names);
    names.push(...name.names.filter(isRealName), ...(operand.names ?? []));
    value = stronger(value, operand.value);
    at = operand.end;
    const next = scanSeparator(text, at);
    if (next === null) break;
    at = next;
  }
  if (!endsHere(text, at)) return null;
  const typed = typeColumn(text, at);
  if (typed !== null) [at, value] = [typed, 'required'];
  const start = descriptionStart(text, at);
  return {
    names: [...new Set(names)],
    value,
    description: text.slice(start),
    at: start < text.length ? start : null,
  };
}

/** A type in a column of its own, `--name   TEXT  Who`: where that column ends. */
function typeColumn(text: string, at: number): number | null {
  const found =
    /^ {2,}(?:TEXT|INTEGER|FLOAT|PATH|FILE|DIRECTORY|FILENAME|UUID|BOOLEAN|DATETIME|\[[A-Za-z0-9-]+(?:\|[A-Za-z0-9-]+)+\])(?: RANGE)?(?= {2}|$)/.exec(
      text.slice(at, at + 200),
    );
  return found ? at + found[0].length : null;
}

type Name = { readonly names: readonly string[]; readonly end: number };

const nameStart = /^[A-Za-z0-9]$/;
const nameChar = /^[A-Za-z0-9_.+-]$/;

/** `-x`, `--name`, `-name`, `--[no-]name`, `-?`, `-###`; `/?` only behind another name. */
export function scanName(text: string, at: number): Name | null {
  if (text[at] === '/' && at > 0)
    return /^[?A-Za-z]$/.test(text[at + 1] ?? '') ? named(text, at, at + 2) : null;
  if (text[at] !== '-') return null;
  const from = text[at + 1] === '-' ? at + 2 : at + 1;
  const first = text[from];
  if (first === '[' || first === '(') return negatable(text, at, from);
  if (first === '<') {
    const end = closing(text, from);
    return end < 0 ? null : { names: [], end };
  }
  if (first === undefined || first === ' ') return null;
  if (!nameStart.test(first)) return punctuation(text, at, from);
  let end = from + 1;
  while (end < text.length && nameChar.test(text[end]!)) end++;
  while (end > from + 1 && '.-'.includes(text[end - 1]!)) end--;
  return named(text, at, end);
}

function named(text: string, at: number, end: number): Name {
  return { names: [text.slice(at, end)], end };
}

/** `--[no-]name` and `-[no]name` are two names. */
function negatable(text: string, at: number, from: number): Name | null {
  const end = closing(text, from);
  const inside = end < 0 ? '' : text.slice(from + 1, end - 1);
  if (inside !== 'no-' && inside !== 'no') return null;
  const dashes = text.slice(at, from);
  const rest = scanName(`-${text.slice(end, end + 200)}`, 0);
  const word = rest?.names[0]?.slice(1) ?? '';
  if (word === '') return null;
  return { names: [dashes + word, dashes + inside + word], end: end + word.length };
}

function punctuation(text: string, at: number, from: number): Name | null {
  if (from !== at + 1 || !'?@#.:!%*+~^&$'.includes(text[from]!)) return null;
  let end = from + 1;
  while (text[end] === text[from] && end < from + 3) end++;
  const next = text[end];
  return isSpace(next) || next === ',' || next === '|' ? named(text, at, end) : null;
}

/** `--no-OPTION` and `--with-PACKAGE` are patterns and no names. */
function isRealName(name: string): boolean {
  return !/^--[a-z-]*[A-Z]{3,}/.test(name);
}

function stronger(a: FlagValue, b: FlagValue): FlagValue {
  if (a === 'required' || b === 'required') return 'required';
  return a === 'optional' || b === 'optional' ? 'optional' : 'none';
}

/** Start of the next name, or null where the names end. */
function scanSeparator(text: string, at: number): number | null {
  let index = at;
  while (text[index] === ' ') index++;
  const spaces = index - at;
  const char = text[index];
  if (char === ',' || char === '|') return nameFrom(text, index + 1, char === ',');
  if (char === '/' && (text[index + 1] === '-' || text[index + 1] === ' '))
    return nameFrom(text, index + 1, false);
  if (text.startsWith('or -', index) && spaces > 0) return index + 3;
  // `-h --help`, `--append  -A`: with more spaces it would be another column.
  const near = spaces === 1 || (spaces === 2 && /^-\w(?: |$)/.test(text.slice(index, index + 3)));
  return char === '-' && near && scanName(text, index) !== null ? index : null;
}

function nameFrom(text: string, at: number, slash: boolean): number | null {
  let index = at;
  while (text[index] === ' ') index++;
  const name = text[index] === '-' || (slash && text[index] === '/') ? scanName(text, index) : null;
  return name === null ? null : index;
}

function endsHere(text: string, at: number): boolean {
  const char = text[at];
  return isSpace(char) || char === ':' || char === '=' || char === ',' || char === ';';
}

function descriptionStart(text: string, at: number): number {
  let index = at;
  while (text[index] === ' ') index++;
  if (':=#;,-'.includes(text[index] ?? '?') && isSpace(text[index + 1])) {
    index++;
    while (text[index] === ' ') index++;
  }
  return index;
}
