/** One server-sent-event stream: messages, keep-alive comments, and an end when its reader is gone. */
import type { ServerResponse } from 'node:http';
import type { Limits } from './limits.ts';

export interface Stream {
  send(message: unknown): void;
  /** As `send`, but left out where the reader is slow. */
  offer(message: unknown): void;
  event(name: string, data: string): void;
  close(): void;
}

/** Starts a stream on a response; `onEnd` is called once, however it ends. */
export function openStream(
  res: ServerResponse,
  limits: Limits,
  headers: Readonly<Record<string, string>>,
  onEnd: () => void = () => undefined,
): Stream {
  let open = true;
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  res.flushHeaders();
  const beat = setInterval(() => write(': keep-alive\n\n'), limits.keepAliveMs);
  res.once('close', finish);
  if (res.destroyed) finish();

  function finish(): void {
    if (!open) return;
    open = false;
    clearInterval(beat);
    onEnd();
  }
  function write(text: string): void {
    if (!open) return;
    res.write(text);
    // A reader that takes nothing would make us hold all that it doesn't take.
    if (res.writableLength > limits.streamBacklogBytes + text.length) res.destroy();
  }
  return {
    send: (message) => write(`event: message\ndata: ${JSON.stringify(message)}\n\n`),
    offer(message) {
      if (res.writableLength < 64 * 1024) this.send(message);
    },
    event: (name, data) => write(`event: ${name}\ndata: ${data}\n\n`),
    close() {
      res.end();
      finish();
    },
  };
}
