import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Writes and waits where the reader is slow; a reader that went away (EPIPE) takes no more. */
export async function write(to: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  const out = to as Writable;
  if (out.destroyed || out.writableEnded) return;
  if (!out.write(bytes)) await Promise.race([once(out, 'drain'), once(out, 'close')]);
}
