/** Hash chain within one file: each record carries the hash of the one before it, the first one that of the file's name. */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { isKey, type LogEvent } from './record.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const seal = /,"hash":"([0-9a-f]{64})"\}$/;

/** No record is longer than this many bytes; a longer line is no record. */
export const maxLineBytes = 1024 * 1024;

/** `prev` of a file's first record: a renamed file does not verify. */
export const genesis = (file: string) => sha256(`wraptool log ${file}`);

/** One line (without newline) and its hash. The hash is over the bytes before it, so that no canonical form is needed. */
export function sealRecord(body: Readonly<Record<string, unknown>>): { line: string; hash: string } {
  const json = JSON.stringify(body);
  const hash = sha256(json);
  return { line: `${json.slice(0, -1)},"hash":"${hash}"}`, hash };
}

export type Problem = { readonly file: string; readonly line: number; readonly problem: string };
export type FileReport = {
  readonly file: string;
  readonly records: number;
  /** The last line is incomplete: its writer died while writing. Survivable, and said. */
  readonly torn: boolean;
  readonly head: string;
  readonly problems: readonly Problem[];
};

/** Complete lines of a file, as text and as bytes; the last item is what follows the last newline, empty where nothing was torn. */
export async function* linesOf(
  path: string,
  start = 0,
): AsyncGenerator<{ line: string; data: Buffer; bytes: number; complete: boolean }> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { start })) {
    let left = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    for (let end = left.indexOf(10); end >= 0; end = left.indexOf(10)) {
      const data = left.subarray(0, end);
      yield { line: data.toString('utf8'), data, bytes: end + 1, complete: true };
      left = left.subarray(end + 1);
    }
    rest = Buffer.from(left);
    if (rest.length > maxLineBytes) break;
  }
  if (rest.length > 0) yield { line: rest.toString('utf8'), data: rest, bytes: rest.length, complete: false };
}

/** That a file had a record of this number and hash, as another file says. */
export type Voucher = { readonly file: string; readonly n: number; readonly hash: string };

/** Checks one file: numbering, links, hashes, and what other files vouch for. `file` is the name without its ending. */
export async function verifyFile(
  path: string,
  file: string,
  vouchers: readonly Voucher[] = [],
): Promise<FileReport> {
  const problems: Problem[] = [];
  let prev = genesis(file);
  let records = 0;
  let number = 0;
  let torn = false;
  let offset = 0;
  let back: number | null = null;
  for await (const { line, data, bytes, complete } of linesOf(path)) {
    number += 1;
    if (!complete) {
      torn = true;
      break;
    }
    // Bytes that are no text read as a character that may have stood there: the hash would not tell.
    const problem = isUtf8(data)
      ? judge(line, records + 1, prev, back)
      : 'the record was changed: it is not UTF-8';
    if (typeof problem === 'string') {
      problems.push({ file, line: number, problem });
      // What follows a broken link cannot be placed: one problem says so.
      break;
    }
    prev = problem.hash;
    if (problem.key) back = offset;
    offset += bytes;
    records += 1;
    if (vouchers.some(({ n, hash }) => n === records && hash !== prev))
      problems.push({
        file,
        line: number,
        problem: 'the record is another than the one that a later file names',
      });
  }
  const most = Math.max(0, ...vouchers.map(({ n }) => n));
  if (problems.length === 0 && records < most)
    problems.push({
      file,
      line: number,
      problem: `the file was cut short: it had ${most} records when a later file began`,
    });
  return { file, records, torn, head: prev, problems };
}

/** The last whole record of a file: its number and hash; null where there is none. */
export async function lastRecord(path: string): Promise<{ n: number; hash: string } | null> {
  const { size } = await stat(path);
  let last: { n: number; hash: string } | null = null;
  for await (const { line, complete } of linesOf(path, Math.max(0, size - 2 * maxLineBytes))) {
    const hash = seal.exec(line)?.[1];
    const n = Number(/^\{"n":(\d+),/.exec(line)?.[1] ?? NaN);
    if (complete && hash !== undefined && Number.isInteger(n)) last = { n, hash };
  }
  return last;
}

function judge(
  line: string,
  n: number,
  prev: string,
  back: number | null,
): string | { hash: string; key: boolean } {
  const match = seal.exec(line);
  const hash = match?.[1];
  if (hash === undefined) return 'not a sealed record';
  const body = `${line.slice(0, match?.index)}}`;
  if (sha256(body) !== hash) return 'the record was changed: its hash does not match its content';
  const facts = JSON.parse(body) as { n?: unknown; prev?: unknown; back?: unknown };
  if (facts.prev !== prev)
    return 'the chain is broken: a record before this one is missing, changed or out of place';
  if (facts.n !== n) return `the record is numbered ${String(facts.n)} and should be ${n}`;
  // Older logs have no such link.
  if (facts.back !== undefined && facts.back !== back)
    return 'its link to the newest request or decision before it leads elsewhere';
  return { hash, key: isKey(facts as unknown as LogEvent) };
}
