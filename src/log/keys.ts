/**
 * The records that requests and grants are made of, found without reading the calls between them: from the last whole
 * line of a file each `back` leads to the one before. A file of an older log, without these links, is read through.
 */
import { open, stat, type FileHandle } from 'node:fs/promises';
import { linesOf, maxLineBytes } from './chain.ts';
import { logFiles, pathOf } from './files.ts';
import { compare } from './read.ts';
import { isKey, parseRecord, type Entry } from './record.ts';

export interface KeyFollower {
  /** Key records that appeared since the last poll, merged by time; the first poll gives all. */
  poll(): Promise<Entry[]>;
}

/** What of a file was read: nothing before `end` is new, and nothing at all while it has `size` bytes. */
type Place = { end: number; size: number };

export function followKeys(dir: string): KeyFollower {
  const places = new Map<string, Place>();
  return {
    async poll() {
      const entries: Entry[] = [];
      for (const file of await logFiles(dir)) {
        const place = places.get(file) ?? { end: 0, size: 0 };
        places.set(file, place);
        const { size } = await stat(pathOf(dir, file));
        if (size === place.size) continue;
        entries.push(...(await newKeys(dir, file, place)));
        place.size = size;
      }
      return entries.toSorted(compare);
    },
  };
}

async function newKeys(dir: string, file: string, place: Place): Promise<Entry[]> {
  await using handle = await open(pathOf(dir, file), 'r');
  const { size } = await handle.stat();
  if (size <= place.end) return [];
  const last = await lastLine(handle, size);
  if (last === null || last.offset < place.end) return [];
  const found: Entry[] = [];
  const end = last.offset + Buffer.byteLength(last.line) + 1;
  for (let at: { offset: number; line: string } | null = last; at !== null;) {
    const record = parseRecord(at.line);
    if (record?.back === undefined) {
      found.length = 0;
      found.push(...(await readThrough(dir, file, place.end, end)));
      break;
    }
    if (isKey(record)) found.push({ seq: `${file}:${record.n}`, record });
    const { back } = record;
    at =
      back === null || back < place.end || back >= at.offset
        ? null
        : { offset: back, line: await lineAt(handle, back) };
  }
  place.end = end;
  return found;
}

async function readThrough(dir: string, file: string, from: number, to: number): Promise<Entry[]> {
  const found: Entry[] = [];
  let offset = from;
  for await (const { line, bytes, complete } of linesOf(pathOf(dir, file), from)) {
    if (!complete || offset >= to) break;
    offset += bytes;
    // A quote inside a JSON string is escaped, so these bytes are always the key itself.
    if (/"event":"(received|finished)"/.test(line)) continue;
    const record = parseRecord(line);
    if (record && isKey(record)) found.push({ seq: `${file}:${record.n}`, record });
  }
  return found;
}

const chunkBytes = 64 * 1024;

/** The last line that ends in a newline: what follows it is torn, or being written. */
async function lastLine(handle: FileHandle, size: number): Promise<{ offset: number; line: string } | null> {
  let tail = Buffer.alloc(0);
  for (let start = size; start > 0 && tail.length <= 2 * maxLineBytes;) {
    const from = Math.max(0, start - chunkBytes);
    tail = Buffer.concat([await bytesAt(handle, from, start - from), tail]);
    start = from;
    const close = tail.lastIndexOf(10);
    if (close < 0) continue;
    const before = close === 0 ? -1 : tail.lastIndexOf(10, close - 1);
    if (before >= 0 || start === 0)
      return { offset: start + before + 1, line: tail.toString('utf8', before + 1, close) };
  }
  return null;
}

async function lineAt(handle: FileHandle, offset: number): Promise<string> {
  let bytes = Buffer.alloc(0);
  while (bytes.length <= maxLineBytes) {
    const more = await bytesAt(handle, offset + bytes.length, chunkBytes);
    bytes = Buffer.concat([bytes, more]);
    const close = bytes.indexOf(10);
    if (close >= 0) return bytes.toString('utf8', 0, close);
    if (more.length === 0) break;
  }
  return bytes.toString('utf8');
}

async function bytesAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
