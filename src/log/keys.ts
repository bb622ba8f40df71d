/**
 * The records that requests and grants are made of, found without reading the calls between them: from the last whole
 * line of a file each `back` leads to the one before. A file of an older log, without these links, is read through.
 */
import { open, stat, type FileHandle } from 'node:fs/promises';
import { maxLineBytes } from './chain.ts';
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
      found.push(...(await readThrough(handle, file, place.end, end)));
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

const pieceBytes = 8 * 1024 * 1024;
const newline = 10;

/** Of whole lines between two offsets, those that are key records; calls are passed over as bytes. */
async function readThrough(handle: FileHandle, file: string, from: number, to: number): Promise<Entry[]> {
  const found: Entry[] = [];
  let rest = Buffer.alloc(0);
  for (let at = from; at < to;) {
    const piece = await bytesAt(handle, at, Math.min(pieceBytes, to - at));
    if (piece.length === 0) break;
    at += piece.length;
    const data = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const end = data.lastIndexOf(newline) + 1;
    for (const line of keyLines(data.subarray(0, end))) {
      const record = parseRecord(line);
      if (record && isKey(record)) found.push({ seq: `${file}:${record.n}`, record });
    }
    rest = Buffer.from(data.subarray(end));
  }
  return found;
}

// A quote inside a JSON string is escaped, so these bytes are always the keys themselves.
const eventMark = Buffer.from('"event":"');
const usesMark = Buffer.from('"uses_left":');

/** One search per line for nearly all lines: there may be a million. */
function* keyLines(data: Buffer): Generator<string> {
  let uses = data.indexOf(usesMark);
  for (let mark = data.indexOf(eventMark); mark >= 0;) {
    const next = data.indexOf(eventMark, mark + eventMark.length);
    const kind = data[mark + eventMark.length];
    const third = data[mark + eventMark.length + 2];
    // received, finished and decided, of all events, are no key records.
    const isCall = kind === letters.f || ((kind === letters.r || kind === letters.d) && third === letters.c);
    while (uses >= 0 && uses < mark) uses = data.indexOf(usesMark, uses + 1);
    if (!isCall || (uses >= 0 && (next < 0 || uses < next)))
      yield data.toString('utf8', data.lastIndexOf(newline, mark) + 1, data.indexOf(newline, mark));
    mark = next;
  }
}

const letters = { c: 0x63, d: 0x64, f: 0x66, r: 0x72 } as const;

const chunkBytes = 64 * 1024;
/** Most records are shorter. */
const lineBytes = 4 * 1024;

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
    const more = await bytesAt(handle, offset + bytes.length, bytes.length === 0 ? lineBytes : chunkBytes);
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
