/** A help text as lines: no escapes, no overstrikes, tabs as columns, bounded in size, length and number. */

export type Line = { readonly indent: number; readonly text: string };

/** The longest real texts are far below; what is beyond is not read. Characters. */
export const maxText = 1024 * 1024;
const maxLine = 2000;
const maxLines = 20_000;

/** CSI and OSC sequences, and the shorter ones. */
const escapes =
  // eslint-disable-next-line no-control-regex
  /\u001b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)|[ -/]{0,4}[0-~])/g;
// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const rules = /^[\u2500-\u257f=_*~-]{3,}$/;

export function toLines(text: string): Line[] {
  return text
    .slice(0, maxText)
    .split('\n', maxLines)
    .map((raw) => toLine(clean(raw.slice(0, maxLine))));
}

function clean(raw: string): string {
  const plain = raw.includes('\u001b') ? raw.replace(escapes, '') : raw;
  const struck = plain.includes('\b') ? withoutOverstrikes(plain) : plain;
  const bare = struck.replace(controls, '').replaceAll('\u00a0', ' ');
  return /^\s*[\u2500-\u257f]/.test(bare) ? unboxed(bare) : bare;
}

/** A section in a frame: its title is in the upper edge, and what takes two columns of names has them in one. */
function unboxed(text: string): string {
  const title =
    /^\s*[\u250c\u250f\u256d\u2500\u2501]+ ([^\u2500-\u257f]{1,100}) [\u2500\u2501]+[\u2510\u2513\u256e]?\s*$/.exec(
      text,
    )?.[1];
  if (title !== undefined) return `${title}:`;
  const inside = text.replace(/[\u2500-\u257f]/g, ' ');
  const marked = inside.replace(/^(\s*)\* /, '$1  ');
  return marked.replace(/^(\s*--[\w-]+) {2,}(-\w) /, '$1, $2 ');
}

/** `N\bN` is bold and `_\bN` underlined on a printer: the last character at a place is what is read. */
function withoutOverstrikes(text: string): string {
  const kept: string[] = [];
  for (const char of text)
    if (char === '\b') kept.pop();
    else kept.push(char);
  return kept.join('');
}

function toLine(text: string): Line {
  let column = 0;
  let at = 0;
  for (; text[at] === ' ' || text[at] === '\t'; at++)
    column = text[at] === ' ' ? column + 1 : nextStop(column);
  const rest = text.slice(at).trimEnd();
  const shown = rules.test(rest) ? '' : rest;
  return { indent: column, text: shown.includes('\t') ? withoutTabs(shown, column) : shown };
}

function nextStop(column: number): number {
  return column + 8 - (column % 8);
}

function withoutTabs(text: string, from: number): string {
  let out = '';
  for (const char of text)
    out += char === '\t' ? ' '.repeat(nextStop(from + out.length) - from - out.length) : char;
  return out;
}

/** Index behind the bracket that closes the one at `at`, or -1. Nesting of any kind counts. */
export function closing(text: string, at: number): number {
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    const char = text[index]!;
    if ('[<{('.includes(char)) depth++;
    else if (']>})'.includes(char) && --depth === 0) return index + 1;
  }
  return -1;
}

export function isSpace(char: string | undefined): boolean {
  return char === undefined || char === ' ';
}
