/** Byte streams of the Docker API: lines of JSON, and stdout and stderr woven into one stream. */
import type { Readable } from 'node:stream';

/** Calls back with each line; resolves at the end of the stream, rejects when it breaks. */
export async function eachLine(stream: Readable, seen: (line: string) => void): Promise<void> {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') seen(line);
  }
  if (rest.trim() !== '') seen(rest);
}

/**
 * Frames of a non-TTY attach: [stream, 0, 0, 0, length as 4 bytes big endian], then the bytes.
 * Source: Docker Engine API, "ContainerAttach", stream format.
 */
export async function demultiplex(
  stream: AsyncIterable<Buffer>,
  out: (bytes: Buffer) => Promise<void>,
  err: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  let header = Buffer.alloc(0);
  let kind = 0;
  let left = 0;
  for await (const chunk of stream) {
    let at = 0;
    while (at < chunk.length) {
      if (left === 0) {
        const part = chunk.subarray(at, at + 8 - header.length);
        header = Buffer.concat([header, part]);
        at += part.length;
        if (header.length < 8) break;
        kind = header[0] ?? 0;
        left = header.readUInt32BE(4);
        header = Buffer.alloc(0);
        continue;
      }
      const part = chunk.subarray(at, at + left);
      at += part.length;
      left -= part.length;
      await (kind === 2 ? err : out)(part);
    }
  }
}
