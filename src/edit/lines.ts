/** Lines of a text: where one begins and ends, how it is indented, which line break it has. */

export type LineEnd = {
  /** Offset after the line’s break, or the end of the text. */
  readonly next: number;
  /** Offset where the line’s own characters end. */
  readonly content: number;
  readonly broken: boolean;
  /** The break that a line put after this one gets. */
  readonly eol: string;
};

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The end of the line on which something ends at `offset`; a thing that takes in its line break ends its own line. */
export function lineEnd(text: string, offset: number): LineEnd {
  return lineEndAt(text, offset > 0 && text[offset - 1] === '\n' ? offset - 1 : offset);
}

/** The end of the line that the character at `offset` is on. */
export function lineEndAt(text: string, offset: number): LineEnd {
  const newline = text.indexOf('\n', offset);
  if (newline === -1) return { next: text.length, content: text.length, broken: false, eol: lastBreak(text) };
  const eol = text[newline - 1] === '\r' ? '\r\n' : '\n';
  return { next: newline + 1, content: newline + 1 - eol.length, broken: true, eol };
}

/** Where the characters of the line before the one that begins at `begin` end. */
export function endBefore(text: string, begin: number): number {
  return begin === 0 ? 0 : lineEndAt(text, begin - 1).content;
}

/** The break of the last line that has one, else LF. */
export function lastBreak(text: string): string {
  const newline = text.lastIndexOf('\n');
  return newline > 0 && text[newline - 1] === '\r' ? '\r\n' : '\n';
}

/** White space at the beginning of the line of `offset`. */
export function indentOf(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
}

/** Whether nothing but white space stands before `offset` on its line. */
export function beginsLine(text: string, offset: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset));
}

export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** What is to be inserted, and where, so that `lines` follow the line on which something ends at `offset`. */
export function linesAfter(
  text: string,
  offset: number,
  lines: readonly string[],
): { at: number; insert: string } {
  const { next, broken, eol } = lineEnd(text, offset);
  return { at: next, insert: lines.map((line) => (broken ? line + eol : eol + line)).join('') };
}

export function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}
