/** Private keys over several lines: found line by line, so that no length is too long and a cut-off one is caught. */

/** `from`: the line that shows what follows; `open`: more of it could follow. */
export type Block = {
  readonly name: string;
  readonly from: number;
  readonly start: number;
  readonly end: number;
  readonly open: boolean;
};

const name = 'private-key';
/** What a block can be told by; each is looked for as plain text, which is fast. */
const marks = ['PRIVATE KEY', 'Private-Lines: '] as const;
const begin = /-----BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----/y;
const beginOf = /-----BEGIN [A-Z0-9 ]{0,40}$/;
const putty = /Private-Lines: ([0-9]{1,4})\r?\n/y;
const finish = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
/** A rest of the line of base64 (newlines may be written \n, as in JSON), then END or the line's end. */
const oneLine = /(?:[A-Za-z0-9+/=]|\\{1,2}[nr]|[ \t])*/y;
/** Up to a diff mark, a quote or a log's own prefix, then base64 or a header. */
const bodyLine =
  /(?:[^\n]{0,80}?[ \t>+|#*"':-])??(?:[A-Za-z0-9+/]{16,}={0,3}|[A-Za-z0-9+/]{1,}={1,3}|=[A-Za-z0-9+/]{4})(?:\\[nr])*["',\\]{0,4}[ \t]*\r?(?:\n|$)/y;
const lastLine = /[ \t>+|-]{0,16}[A-Za-z0-9+/=]{1,100}[ \t]*\r?(?:\n|$)/y;
const neutralLine =
  /[ \t>+|#*-]{0,16}(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID): ?[^\n]{0,200})?\r?(?:\n|$)/y;
const endLine = /[^\n]{0,80}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;

/** Blocks in `text` that begin at or after `from`; the last is open when more of it could follow. */
export function keyBlocks(text: string, from: number): Block[] {
  const [pem, ppk] = marks;
  return [...blocksAt(text, from, pem, pemAt), ...blocksAt(text, from, ppk, puttyAt)];
}

function* blocksAt(
  text: string,
  from: number,
  mark: string,
  blockAt: (text: string, from: number, at: number) => Block | null,
): Generator<Block> {
  let at = text.indexOf(mark, from);
  while (at !== -1) {
    const block = blockAt(text, from, at);
    if (block !== null) yield block;
    at = text.indexOf(mark, Math.max(at + mark.length, block?.end ?? 0));
  }
}

function pemAt(text: string, from: number, at: number): Block | null {
  const head = beginOf.exec(text.slice(Math.max(from, at - 64), at))?.[0];
  if (head === undefined) return null;
  const after = step(begin, text, at - head.length);
  return after === null ? null : pemBlock(text, at - head.length, after);
}

function puttyAt(text: string, _from: number, at: number): Block | null {
  putty.lastIndex = at;
  const match = putty.exec(text);
  return match === null ? null : puttyBlock(text, at, at + match[0].length, Number(match[1]));
}

function pemBlock(text: string, start: number, after: number): Block | null {
  const rest = step(oneLine, text, after) ?? after;
  const closed = step(finish, text, rest);
  if (closed !== null) return { name, from: start, start, end: closed, open: false };
  const newline = text.indexOf('\n', rest);
  if (newline === -1) return { name, from: start, start, end: Math.max(rest, after), open: true };
  // Something else on the line of BEGIN: a key was written in one line and cut off, or only named.
  if (text.slice(rest, newline).trim() !== '' && rest - after < 16) return null;
  return linesOf(text, start, newline + 1, rest - after >= 16);
}

function linesOf(text: string, start: number, from: number, begun: boolean): Block | null {
  let at = from;
  let end = begun ? from - 1 : -1;
  while (at < text.length) {
    const ended = step(endLine, text, at);
    if (ended !== null) return { name, from: start, start, end: ended, open: false };
    const body = step(bodyLine, text, at) ?? (end === -1 ? null : step(lastLine, text, at));
    const next = body ?? step(neutralLine, text, at);
    if (next === null || next === at) break;
    if (body !== null) end = text[body - 1] === '\n' ? body - 1 : body;
    at = next;
  }
  const open = at >= text.length;
  if (end === -1) return open ? { name, from: start, start, end: start, open } : null;
  return { name, from: start, start, end: text[end - 1] === '\r' ? end - 1 : end, open };
}

function puttyBlock(text: string, from: number, start: number, lines: number): Block {
  let at = start;
  for (let count = 0; count < lines; count++) {
    const newline = text.indexOf('\n', at);
    if (newline === -1) return { name, from, start, end: text.length, open: true };
    at = newline + 1;
  }
  const end = Math.max(start, at - 1);
  return { name, from, start, end: text[end - 1] === '\r' ? end - 1 : end, open: false };
}

function step(expression: RegExp, text: string, at: number): number | null {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : null;
}
