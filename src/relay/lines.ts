/** Newline-delimited JSON on standard streams, bounded both ways. */
import type { Readable, Writable } from 'node:stream';

/** Calls back per line. A line above `limit` bytes is skipped and told as null. Resolves at the end of the input. */
export async function readLines(
  input: Readable,
  limit: number,
  take: (line: string | null) => Promise<void> | void,
): Promise<void> {
  let parts: Buffer[] = [];
  let size = 0;
  const flush = async () => {
    const text = size > limit ? null : Buffer.concat(parts).toString('utf8').trim();
    parts = [];
    size = 0;
    if (text !== '') await take(text);
  };
  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end));
      await flush();
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  await flush();

  function keep(part: Buffer): void {
    size += part.length;
    if (size <= limit) parts.push(Buffer.from(part));
    else parts = [];
  }
}

export interface Writer {
  write(message: unknown): void;
  /** Resolves when what was written has room again. */
  drained(): Promise<void>;
}

export function createWriter(output: Writable): Writer {
  let waiting: Promise<void> | null = null;
  return {
    write(message) {
      if (output.write(`${JSON.stringify(message)}\n`)) return;
      waiting ??= new Promise((resolve) => {
        output.once('drain', () => {
          waiting = null;
          resolve();
        });
      });
    },
    drained: () => waiting ?? Promise.resolve(),
  };
}
