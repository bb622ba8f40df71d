/** What a server writes beside the protocol: lines, scrubbed, each short, and not too many. */
import type { Readable } from 'node:stream';
import { createLineSplitter } from './lines.ts';
import { Throttle } from './throttle.ts';
import type { Scrub } from './types.ts';

const maxLine = 64 * 1024;
const shownLength = 2_000;
const linesPerSecond = 200;

/** It waits rather than being dropped: a secret may be spread over lines. */
const bytesPerWindow = 256 * 1024;

/** Reads a stream to its end. */
export function readOutput(source: Readable, scrub: Scrub, emit: (line: string) => void): void {
  const throttle = new Throttle(source, bytesPerWindow);
  const limited = rateLimited(emit);
  const stream = scrub.stream();
  const show = (text: string) => {
    for (const line of text.split('\n')) if (line.trim() !== '') limited(line.slice(0, shownLength));
  };
  const splitter = createLineSplitter(maxLine, Infinity, {
    line: (bytes) => show(stream.push(`${bytes.toString('utf8')}\n`)),
    overlong: () => show(`[a line of over ${maxLine} bytes is left out]`),
    endless: () => undefined,
  });
  source.on('data', (chunk: Buffer) => {
    throttle.count(chunk.length);
    splitter.push(chunk);
  });
  source.once('close', () => {
    splitter.end();
    show(stream.end());
  });
}

/** Lines over the rate are counted; the count comes with the next line that is shown. */
export function rateLimited(emit: (line: string) => void): (line: string) => void {
  let second = 0;
  let shown = 0;
  let dropped = 0;
  return (line) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) {
      second = now;
      shown = 0;
    }
    if (shown >= linesPerSecond) {
      dropped += 1;
      return;
    }
    if (dropped > 0) emit(`[${dropped} lines are left out]`);
    dropped = 0;
    shown += 1;
    emit(line);
  };
}
