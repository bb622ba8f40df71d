import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Writes and waits where the reader is slow; a reader that went away takes no more. */
export async function write(to: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  const out = to as Writable;
  if (out.destroyed || out.writableEnded || out.write(bytes)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([once(out, 'drain', { signal }), once(out, 'close', { signal })]);
  } finally {
    // The one that did not come would leave a listener behind.
    waiting.abort();
  }
}
