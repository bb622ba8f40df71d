/** The newest records, read from the ends of the files: what is old costs nothing. */
import { open, stat, type FileHandle } from 'node:fs/promises';
import { logFiles, pathOf } from './files.ts';
import { compare } from './read.ts';
import { parseRecord, type Entry } from './record.ts';

const chunkBytes = 256 * 1024;
const clockMs = 1_000;

/** The newest `count` records of all files, oldest first. */
export async function tailLog(dir: string, count: number): Promise<Entry[]> {
  let kept: Entry[] = [];
  if (count === 0) return kept;
  for (const { file, changed } of await byChange(dir)) {
    const oldest = kept[0];
    // A record is no newer than the last write to its file, but for the kernel's coarse clock.
    if (kept.length === count && oldest && changed + clockMs < Date.parse(oldest.record.time)) break;
    const newest: Entry[] = [];
    for await (const line of backwards(pathOf(dir, file))) {
      const record = parseRecord(line);
      if (record) newest.push({ seq: `${file}:${record.n}`, record });
      if (newest.length >= count) break;
    }
    kept = [...kept, ...newest].toSorted(compare).slice(-count);
  }
  return kept;
}

/** Records of the newest `bytes` bytes of all files that `wanted` takes by their lines, newest file first. */
export async function recentRecords(
  dir: string,
  bytes: number,
  wanted: (line: string) => boolean,
): Promise<Entry[]> {
  const found: Entry[] = [];
  let left = bytes;
  for (const { file } of await byChange(dir))
    for await (const line of backwards(pathOf(dir, file))) {
      left -= line.length;
      if (left < 0) return found;
      if (!wanted(line)) continue;
      const record = parseRecord(line);
      if (record) found.push({ seq: `${file}:${record.n}`, record });
    }
  return found;
}

/** Files with the time of their last write (ms), the one that was written last first. */
async function byChange(dir: string): Promise<{ file: string; changed: number }[]> {
  const files = [];
  for (const file of await logFiles(dir))
    files.push({ file, changed: Math.ceil((await stat(pathOf(dir, file))).mtimeMs) });
  return files.toSorted((a, b) => b.changed - a.changed);
}

/** Whole lines from the last to the first; what follows the last newline is torn and left out. */
async function* backwards(path: string): AsyncGenerator<string> {
  await using handle = await open(path, 'r');
  let { size: start } = await handle.stat();
  let rest = Buffer.alloc(0);
  let torn = true;
  while (start > 0) {
    const from = Math.max(0, start - chunkBytes);
    let data = Buffer.concat([await read(handle, from, start - from), rest]);
    start = from;
    for (let at = data.lastIndexOf(10); at >= 0; at = data.lastIndexOf(10)) {
      if (!torn) yield data.toString('utf8', at + 1);
      torn = false;
      data = data.subarray(0, at);
    }
    rest = Buffer.from(data);
  }
  if (!torn && rest.length > 0) yield rest.toString('utf8');
}

async function read(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
