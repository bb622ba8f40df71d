/** Readers of the log folder: the files of all processes as one sequence in the order of time. */
import { stat } from 'node:fs/promises';
import { linesOf, maxLineBytes, verifyFile, type FileReport, type Problem, type Voucher } from './chain.ts';
import { logFiles, pathOf } from './files.ts';
import { parseRecord, type Entry, type LogEvent } from './record.ts';

/** Entries of one file in order. Lines that are no record are left out: `verify` is what judges them. */
export async function* readFile(dir: string, file: string): AsyncGenerator<Entry> {
  for await (const { line, complete } of linesOf(pathOf(dir, file))) {
    if (!complete) return;
    const record = parseRecord(line);
    if (record) yield { seq: `${file}:${record.n}`, record };
  }
}

/**
 * All entries, merged by time. A file is opened only when its turn comes: its name begins with its start.
 * `changedSince` (ms since 1970) leaves out files that nobody wrote to since.
 */
export async function* readLog(dir: string, options: { changedSince?: number } = {}): AsyncGenerator<Entry> {
  const { changedSince = 0 } = options;
  const waiting: string[] = [];
  for (const file of await logFiles(dir))
    if (changedSince === 0 || (await stat(pathOf(dir, file))).mtimeMs >= changedSince) waiting.push(file);
  const open: { next: Entry; rest: AsyncGenerator<Entry> }[] = [];
  for (;;) {
    open.sort((a, b) => compare(a.next, b.next));
    const first = open[0];
    const candidate = waiting[0];
    if (candidate !== undefined && (!first || startOf(candidate) <= stampOf(first.next))) {
      waiting.shift();
      const rest = readFile(dir, candidate);
      const head = await rest.next();
      if (!head.done) open.push({ next: head.value, rest });
      continue;
    }
    if (!first) return;
    yield first.next;
    const following = await first.rest.next();
    if (following.done) open.shift();
    else first.next = following.value;
  }
}

const startOf = (file: string) => file.slice(0, file.indexOf('-'));
const stampOf = (entry: Entry) => entry.record.time.replaceAll(/[-:.Z]/g, '');

/** By time; within a file the order is that of writing. */
export function compare(a: Entry, b: Entry): number {
  if (a.record.time !== b.record.time) return a.record.time < b.record.time ? -1 : 1;
  const [one, other] = [fileOf(a.seq), fileOf(b.seq)];
  if (one === other) return a.record.n - b.record.n;
  return one < other ? -1 : 1;
}

export interface Follower {
  /** Entries that appeared since the last poll, merged by time; the first poll gives all. */
  poll(): Promise<Entry[]>;
}

/** Reads only what is new at each poll, and of it only the events named (default: all). */
export function followLog(dir: string, events?: readonly LogEvent['event'][]): Follower {
  return following(dir, new Map(), events);
}

/** As followLog, from now on: what is there is left out. */
export async function followNew(dir: string): Promise<Follower> {
  const offsets = new Map<string, number>();
  for (const file of await logFiles(dir)) {
    const { size } = await stat(pathOf(dir, file));
    offsets.set(file, await lineStart(pathOf(dir, file), size));
  }
  return following(dir, offsets);
}

/** Where the line begins that is being written at the end of a file. */
async function lineStart(path: string, size: number): Promise<number> {
  let offset = Math.max(0, size - maxLineBytes);
  for await (const { bytes, complete } of linesOf(path, offset)) {
    if (!complete || offset + bytes > size) break;
    offset += bytes;
  }
  return offset;
}

function following(
  dir: string,
  offsets: Map<string, number>,
  events?: readonly LogEvent['event'][],
): Follower {
  // A quote inside a JSON string is escaped, so these bytes are always the key itself.
  const wanted = events?.map((event) => `"event":"${event}"`);
  return {
    async poll() {
      const entries: Entry[] = [];
      for (const file of await logFiles(dir)) {
        let offset = offsets.get(file) ?? 0;
        for await (const { line, bytes, complete } of linesOf(pathOf(dir, file), offset)) {
          if (!complete) break;
          offset += bytes;
          if (wanted && !wanted.some((mark) => line.includes(mark))) continue;
          const record = parseRecord(line);
          if (record) entries.push({ seq: `${file}:${record.n}`, record });
        }
        offsets.set(file, offset);
      }
      return entries.toSorted(compare);
    },
  };
}

/** The story of one call: the record itself and all that refer to it. Null where there is no such record. */
export async function story(dir: string, seq: string): Promise<Entry[] | null> {
  const files = await logFiles(dir);
  const asked = await recordOf(dir, files, seq);
  if (!asked) return null;
  const root = callOf(asked) ?? seq;
  // A call may end in a later file of the same process.
  const [first, writer] = [fileOf(root), writerOf(fileOf(root))];
  const mark = JSON.stringify(root).slice(1, -1);
  const entries: Entry[] = [];
  for (const file of files.filter((name) => name >= first && writerOf(name) === writer))
    for await (const { line, complete } of linesOf(pathOf(dir, file))) {
      const maybe = complete && (line.includes(mark) || (file === first && line.startsWith(numbered(root))));
      const record = maybe ? parseRecord(line) : null;
      const entry = record && { seq: `${file}:${record.n}`, record };
      if (entry && (entry.seq === root || callOf(entry) === root)) entries.push(entry);
    }
  return entries;
}

async function recordOf(dir: string, files: readonly string[], seq: string): Promise<Entry | null> {
  const file = fileOf(seq);
  if (!files.includes(file)) return null;
  for await (const { line, complete } of linesOf(pathOf(dir, file))) {
    const record = complete && line.startsWith(numbered(seq)) ? parseRecord(line) : null;
    if (record) return { seq, record };
  }
  return null;
}

const fileOf = (seq: string) => seq.slice(0, seq.lastIndexOf(':'));
const numbered = (seq: string) => `{"n":${seq.slice(seq.lastIndexOf(':') + 1)},`;
/** The process that wrote a file. */
const writerOf = (file: string) => file.split('-')[1];
const callOf = ({ record }: Entry): string | null => ('call' in record ? record.call : null);

/** Verifies every file of the folder, and that none is missing between them. */
export async function verifyLog(dir: string): Promise<FileReport[]> {
  const files = await logFiles(dir);
  const vouchers = new Map<string, Voucher[]>();
  const missing = new Map<string, Problem>();
  for (const [place, file] of files.entries()) {
    const after = await vouchedBy(dir, file);
    if (!after) continue;
    vouchers.set(after.file, [...(vouchers.get(after.file) ?? []), after]);
    // Old files are pruned from the front; a gap behind one that is there is another matter.
    if (place > 0 && !files.includes(after.file) && after.file > (files[0] as string))
      missing.set(file, {
        file,
        line: 1,
        problem: `the file '${after.file}.jsonl' that it follows is missing`,
      });
  }
  const reports: FileReport[] = [];
  for (const file of files) {
    const report = await verifyFile(pathOf(dir, file), file, vouchers.get(file));
    const gap = missing.get(file);
    reports.push(gap ? { ...report, problems: [gap, ...report.problems] } : report);
  }
  return reports;
}

async function vouchedBy(dir: string, file: string): Promise<Voucher | null> {
  for await (const { record } of readFile(dir, file)) return record.after ?? null;
  return null;
}
