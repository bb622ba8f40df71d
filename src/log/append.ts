/** The one writer of a process's log: one write per event, nothing queued; a file that is full is followed by another. */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { genesis, lastRecord, maxLineBytes, sealRecord, type Voucher } from './chain.ts';
import { logFiles } from './files.ts';
import { isKey, type LogEvent } from './record.ts';

/** A file that has reached this many bytes is followed by another one. */
export const fullBytes = 64 * 1024 * 1024;

export interface Log {
  /** Name of the file that is written now, without its ending. */
  readonly file: string;
  readonly dir: string;
  /** Writes one event and returns its seq, `<file>:<n>`. Throws WraptoolError log_unavailable; then nothing was recorded. */
  append(event: LogEvent): string;
  close(): void;
}

/** Decisions of people, and what they rest on, reach the disk before they are acknowledged. */
const synced: ReadonlySet<LogEvent['event']> = new Set([
  'requested',
  'approved',
  'denied',
  'granted',
  'revoked',
  'restart',
  'contamination',
]);

type Open = {
  readonly fd: number;
  readonly file: string;
  readonly name: string;
  /** What its first record vouches for. */
  readonly after: Voucher | null;
  n: number;
  size: number;
  prev: string;
  /** Offset of the newest key record. */
  back: number | null;
};

/** Opens a new file in `dir` (made 0700 if missing). */
export async function openLog(
  dir: string,
  options: { session: string | null; fullBytes?: number } = { session: null },
): Promise<Log> {
  const full = options.fullBytes ?? fullBytes;
  let open = create(dir, await newest(dir));
  let broken: WraptoolError | null = null;

  function append(event: LogEvent): string {
    if (broken) throw broken;
    if (open.size >= full) rotate();
    const { n, after, back, size, prev } = open;
    const first = n === 0 && after !== null ? { after } : {};
    const time = new Date().toISOString();
    const body = { n: n + 1, time, prev, session: options.session, back, ...first, ...event };
    const { line, hash } = sealRecord(body);
    const bytes = Buffer.from(`${line}\n`);
    if (bytes.length > maxLineBytes)
      throw unavailable(open.name, `a record of ${bytes.length} bytes is too large`);
    write(bytes, synced.has(event.event));
    open.n += 1;
    open.size += bytes.length;
    open.prev = hash;
    if (isKey(event)) open.back = size;
    return `${open.file}:${open.n}`;
  }

  /** The next file vouches for all of this one. */
  function rotate(): void {
    const { fd, file, n, prev } = open;
    open = create(dir, { file, n, hash: prev });
    fs.closeSync(fd);
  }

  function write(bytes: Buffer, sync: boolean): void {
    try {
      const written = fs.writeSync(open.fd, bytes);
      if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
      if (sync) fs.fdatasyncSync(open.fd);
    } catch (cause) {
      undo(cause);
      throw unavailable(open.name, (cause as Error).message, cause);
    }
  }

  // A half-written record in the middle would break the chain: cut it off, or never write again.
  function undo(cause: unknown): void {
    try {
      fs.ftruncateSync(open.fd, open.size);
    } catch {
      broken = unavailable(open.name, `an earlier write failed: ${(cause as Error).message}`, cause);
    }
  }

  return {
    get file() {
      return open.file;
    },
    dir,
    append,
    close() {
      if (broken?.message === closedMessage) return;
      broken ??= new WraptoolError('log_unavailable', closedMessage);
      fs.closeSync(open.fd);
    },
  };
}

/** The newest record of the newest file that has one: this file's first record will vouch for it. */
async function newest(dir: string): Promise<Voucher | null> {
  try {
    for (const file of (await logFiles(dir)).reverse()) {
      const last = await lastRecord(path.join(dir, `${file}.jsonl`));
      if (last) return { file, ...last };
    }
    return null;
  } catch (cause) {
    throw unavailable(dir, (cause as Error).message, cause);
  }
}

const closedMessage = 'the log is closed';

function create(dir: string, after: Voucher | null): Open {
  try {
    fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    const folder = fs.statSync(dir);
    if ((folder.mode & 0o022) !== 0) throw new Error('others can write in that folder');
    const stamp = new Date().toISOString().replaceAll(/[-:.Z]/g, '');
    const file = `${stamp}-${process.pid}-${randomBytes(3).toString('hex')}`;
    const name = path.join(dir, `${file}.jsonl`);
    const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_NOFOLLOW } = fs.constants;
    const fd = fs.openSync(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0o600);
    syncFolder(dir);
    return { fd, file, name, after, n: 0, size: 0, prev: genesis(file), back: null };
  } catch (cause) {
    throw unavailable(dir, (cause as Error).message, cause);
  }
}

function syncFolder(dir: string): void {
  const fd = fs.openSync(dir, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function unavailable(where: string, why: string, cause?: unknown): WraptoolError {
  return new WraptoolError('log_unavailable', `cannot write the log '${where}': ${why}`, {
    hint: 'make the folder of `requests.log` writable for you alone, with free space; calls are refused until then',
    cause,
  });
}
