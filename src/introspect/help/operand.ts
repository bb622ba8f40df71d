/** What stands behind a flag's name: whether it takes a value, and where that ends. */
import { closing, isSpace } from './text.ts';
import type { FlagValue } from './types.ts';

export type Operand = { readonly end: number; readonly value: FlagValue; readonly names?: readonly string[] };

/** What stands behind a name: glued to it, or behind one space. */
export function scanOperand(
  text: string,
  at: number,
  column: number | null,
  names: readonly string[],
): Operand {
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
    // A remark: `-h (*)`, `-1 ("one"), --single-transaction`.
    const ends = text[end] === ',' || (end - at <= 4 && isSpace(text[end]));
    return ends && end - at <= 12 ? { end, value: 'none' } : null;
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
