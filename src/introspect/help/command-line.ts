/** One line of a list of commands: `name`, aliases and operands, then the description. */
import { closing } from './text.ts';

export type ScannedCommand = {
  readonly name: string;
  readonly description: string;
  /** Offset of the description; null where the line has none. */
  readonly at: number | null;
};

const nameText = /^[a-z0-9@][A-Za-z0-9_.:+@/-]*$/;
const maxName = 60;

export function isCommandName(text: string): boolean {
  return (
    text.length <= maxName && (nameText.test(text) || text === '[' || text === '[[') && !text.endsWith('.')
  );
}

/**
 * `column` is where the descriptions of this list begin, if known; `program` are words that may stand before the name.
 * Null where the line is something else.
 */
export function scanCommand(
  line: string,
  program: readonly string[],
  column: number | null,
): ScannedCommand | null {
  const from = skipLead(line, program);
  const names = scanNames(line, from);
  if (names === null) return null;
  const end = skipOperands(line, names.end, column);
  if (end === null) return null;
  const start = descriptionAt(line, end);
  return { name: names.name, description: line.slice(start), at: start < line.length ? start : null };
}

/** A bullet, a prompt, and the program's own name. */
function skipLead(line: string, program: readonly string[]): number {
  let at = /^(?:[-o*•] +|\$ +)?/.exec(line)![0].length;
  const last = program[0]?.split('/').at(-1);
  for (const words of [program, last === undefined ? [] : [last]]) {
    const lead = `${words.join(' ')} `;
    if (words.length === 0 || !line.startsWith(lead, at)) continue;
    at += lead.length;
    break;
  }
  return at;
}

/** `build, b`, `i, install`: the longest is the name; of `build|bundle|b`, `install (i)`, `auth:` the first. */
function scanNames(line: string, from: number): { readonly name: string; readonly end: number } | null {
  let at = from;
  let name = '';
  let bar = false;
  for (let count = 0; count < 8; count++) {
    let end = at;
    while (end < line.length && !' ,|'.includes(line[end]!)) end++;
    const text = line.slice(at, end).replace(/[:*]$/, '');
    if (!isCommandName(text)) return null;
    if (name === '' || (!bar && text.length > name.length)) name = text;
    at = end;
    const next = /^(?:, ?|\| ?| \| )(?=[a-z0-9])/.exec(line.slice(at, at + 4));
    if (!next) break;
    bar ||= next[0].includes('|');
    at += next[0].length;
  }
  const alias = /^ \([a-z0-9, -]{1,40}\)/.exec(line.slice(at, at + 48));
  return { name, end: at + (alias ? alias[0].length : 0) };
}

/** Skips what looks like operands, each behind one space. Null: the words go on, so it is prose. */
function skipOperands(line: string, from: number, column: number | null): number | null {
  let at = from;
  while (at < line.length) {
    if (line.startsWith('  ', at) || separator(line, at)) return at;
    if (column !== null && at + 1 >= column && at > from) return at;
    // `name:` with its description behind one space.
    if (line[at - 1] === ':') return at;
    const end = wordEnd(line, at + 1);
    if (!isOperand(line.slice(at + 1, end))) return null;
    at = end;
  }
  return at;
}

function separator(line: string, at: number): boolean {
  return /^ (?:-{1,2}|[:=#]|[\u2013\u2014]) /.test(line.slice(at, at + 4));
}

function wordEnd(line: string, at: number): number {
  let end = at;
  let balanced = true;
  while (end < line.length && line[end] !== ' ') {
    const close: number = balanced && '[<{('.includes(line[end]!) ? closing(line, end) : end + 1;
    balanced &&= close >= 0;
    end = close < 0 ? end + 1 : close;
  }
  return end;
}

function isOperand(word: string): boolean {
  return (
    /^[[<{("'|]/.test(word) ||
    word.includes('...') ||
    /^-{1,2}[a-z]/.test(word) ||
    /^[A-Z][A-Z0-9_=:|.-]*$/.test(word)
  );
}

function descriptionAt(line: string, from: number): number {
  let at = from;
  while (line[at] === ' ') at++;
  const lead = /^(?:-{1,2}|[:=#]|[\u2013\u2014]) +/.exec(line.slice(at, at + 40));
  return lead && at > from ? at + lead[0].length : at;
}

const maxListed = 40;

/** `a, b, c,` or `a   b   c`: names without descriptions. `running`: the lines before were such a list. */
export function scanList(
  line: string,
  running: 'commas' | 'grid' | null,
): { kind: 'commas' | 'grid'; names: string[] } | null {
  const commas = line.split(',', maxListed * 4).map((part) => part.trim());
  const parts = commas.at(-1) === '' ? commas.slice(0, -1) : commas;
  if ((parts.length >= 3 || (running === 'commas' && parts.length >= 1)) && parts.every(isCommandName))
    return { kind: 'commas', names: parts };
  const cells = line.split(/ {2,}/, maxListed);
  if ((cells.length >= 3 || running === 'grid') && cells.every(isCommandName))
    return { kind: 'grid', names: cells };
  return null;
}
