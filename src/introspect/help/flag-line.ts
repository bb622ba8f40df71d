/** One line of a list of flags: names, what value they take, and where the description begins. */
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

type Operand = { readonly end: number; readonly value: FlagValue; readonly names?: readonly string[] };

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

/** What stands behind a name: glued to it, or behind one space. */
function scanOperand(text: string, at: number, column: number | null, names: readonly string[]): Operand {
  const none: Operand = { end: at, value: 'none' };
  const char = text[at];
  if (char === '=')
    return isSpace(text[at + 1]) ? { end: at + 1, value: 'required' } : assigned(text, at + 1);
  if (char === '[') return attachedGroup(text, at, names);
  if (char === '<' || char === '{') return glued(text, at);
  if (char === ':' && !isSpace(text[at + 1])) return glued(text, at);
  if (char === '#' && names[0]?.length === 2) return glued(text, at);
  if (char === ',' && text[at + 1] === '<') return glued(text, at);
  if (char === '/' && text[at + 1] !== '-' && !isSpace(text[at + 1])) return glued(text, at);
  // `-v|vv|vvv` is one letter, given more than once.
  if (char === '|' && names[0]?.length === 2 && text[at + 1] === names[0][1]) return repeated(text, at);
  if (text.startsWith('...', at)) return scanOperand(text, at + 3, column, names);
  if (char === ' ' && !isSpace(text[at + 1])) return spaced(text, at + 1, column) ?? none;
  return none;
}

function repeated(text: string, at: number): Operand {
  let end = at;
  while (end < text.length && !' ,'.includes(text[end]!)) end++;
  return { end, value: 'none' };
}

function assigned(text: string, at: number): Operand {
  if (text[at] !== '[') return glued(text, at);
  const end = closing(text, at);
  if (end < 0) return glued(text, at);
  const alone = isSpace(text[end]) || text[end] === ',';
  return alone ? { end, value: 'optional' } : glued(text, at);
}

/** `[=WHEN]`, `[SUFFIX]`, `[A][H]`; `--list[-full]` is two names. */
function attachedGroup(text: string, at: number, names: readonly string[]): Operand {
  const end = closing(text, at);
  if (end < 0) return { end: at, value: 'none' };
  const inside = text.slice(at + 1, end - 1);
  if (inside.startsWith('-') && /^-[a-z-]+$/.test(inside))
    return { end, value: 'none', names: names.map((name) => name + inside) };
  const more = glued(text, end);
  return { end: more.end, value: 'optional' };
}

/** To the next space, or comma before a name, outside of all brackets. */
function glued(text: string, at: number): Operand {
  let index = at;
  // A bracket that nothing closes is looked for once, or a line of them would cost its square.
  let balanced = true;
  while (index < text.length && text[index] !== ' ') {
    const char = text[index]!;
    if (char === ',' && /^,\s*-/.test(text.slice(index, index + 4))) break;
    const end: number = balanced && '[<{('.includes(char) ? closing(text, index) : index + 1;
    balanced &&= end >= 0;
    index = end < 0 ? index + 1 : end;
  }
  // A description separator that is glued to a full column: `<file>= Print`.
  if (index - at > 1 && text[index - 1] === '=' && text[index] === ' ') index--;
  if (index - at > 1 && text[index - 1] === ':' && isSpace(text[index])) index--;
  return { end: index, value: 'required' };
}

/** Words in brackets that say something about the flag and are no operand. */
const remarks =
  /^(?:default|boolean|string|number|array|count|choices|deprecated|required|aliases?|env|experimental|possible)\b/i;

function spaced(text: string, at: number, column: number | null): Operand | null {
  const char = text[at]!;
  if (char === '[') return spacedGroup(text, at);
  if (char === '<') return closing(text, at) < 0 ? null : further(text, glued(text, at));
  if (char === '{') return closing(text, at) < 0 ? null : glued(text, at);
  if (char === '(') {
    const end = closing(text, at);
    if (end < 0) return null;
    if (text.slice(at, end).includes('|')) return glued(text, at);
    return end - at <= 4 && isSpace(text[end]) ? { end, value: 'none' } : null;
  }
  if (char === "'" || char === '"') {
    const end = text.indexOf(char, at + 1);
    return end < 0 || !isSpace(text[end + 1]) ? null : { end: end + 1, value: 'required' };
  }
  return words(text, at, column);
}

function spacedGroup(text: string, at: number): Operand | null {
  const end = closing(text, at);
  if (end < 0) return null;
  const inside = text.slice(at + 1, end - 1);
  if (inside === '+') return { end, value: 'none' };
  if (remarks.test(inside)) return null;
  if (!isSpace(text[end]) && !',.='.includes(text[end]!)) return glued(text, at);
  const rest = glued(text, end);
  // Literal words to choose from are what must be given, in brackets or not.
  const choice = /^[a-z0-9-]+(?:\|[a-z0-9-]+)+$/.test(inside);
  return { end: rest.end, value: choice ? 'required' : 'optional' };
}

/** Operands behind the first: `<cmd> [<file>]`, `<a> <b>`. */
function further(text: string, first: Operand): Operand {
  let { end } = first;
  while (text[end] === ' ' && (text[end + 1] === '<' || text[end + 1] === '[')) {
    const close = closing(text, end + 1);
    if (close < 0 || remarks.test(text.slice(end + 2, close))) break;
    ({ end } = glued(text, end + 1));
  }
  return { ...first, end };
}

const capitals = /^[A-Z][A-Z0-9_]*(?:[-|/:,=@+][A-Za-z0-9_[\]<>.]+)*(?:\.\.\.)?,?$/;
const word = /^[A-Za-z0-9_][\w.:/|@=,+-]*(?:\.\.\.)?(?:\[=.*\])?$/;

/** Bare words are an operand when they stand alone before a gap, or are capitals. */
function words(text: string, at: number, column: number | null): Operand | null {
  const first = wordAt(text, at);
  if (first.text.includes('|') && word.test(first.text.replace(/:$/, '')))
    return { end: first.text.endsWith(':') ? first.end - 1 : first.end, value: 'required' };
  if (column !== null && at >= column) return null;
  const value: FlagValue = /\[=.*\]$/.test(first.text) ? 'optional' : 'required';
  const gap = gapAfter(text, first.end);
  const bare = first.text.replace(/,$/, '');
  const end = first.end - (first.text.length - bare.length);
  if (bare !== first.text) return capitals.test(bare) || text[first.end + 1] === '-' ? { end, value } : null;
  if (first.end === text.length && /^[A-Za-z][\w-]*=[[{<]/.test(first.text)) return { end, value };
  if (!word.test(first.text) || first.text === 'or') return null;
  if (gap) return { end, value };
  if (first.end === text.length) return /^[A-Z][a-z]/.test(first.text) ? null : { end, value };
  if (text[first.end + 1] === '-' && text[first.end + 2] !== ' ') return { end, value };
  const second = wordAt(text, first.end + 1);
  if ((column === null || first.end + 1 < column) && word.test(second.text) && gapAfter(text, second.end))
    return { end: second.end, value };
  if (text[first.end + 1] === '[' && closing(text, first.end + 1) > 0)
    return further(text, { end: first.end, value });
  return capitals.test(first.text) && !/^[AI]$/.test(first.text) ? { end, value } : null;
}

function wordAt(text: string, at: number): { readonly text: string; readonly end: number } {
  const space = text.indexOf(' ', at);
  const end = space < 0 ? text.length : space;
  return { text: end - at > 200 ? '' : text.slice(at, end), end };
}

function gapAfter(text: string, at: number): boolean {
  return text.startsWith('  ', at) || /^ [:=#] /.test(text.slice(at, at + 3));
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
  // `-h --help`: with more than one space it would be another column.
  return char === '-' && spaces === 1 && scanName(text, index) !== null ? index : null;
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
