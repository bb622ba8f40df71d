/** Slows a server that talks without being asked: its output waits, so that the gateway's loop stays free. */
import type { Readable } from 'node:stream';

const windowMs = 100;

export class Throttle {
  readonly #stream: Readable;
  readonly #perWindow: number;
  #seen = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(stream: Readable, perWindow: number) {
    this.#stream = stream;
    this.#perWindow = perWindow;
  }

  /** One more message that answers nothing, or so many bytes more. */
  count(amount = 1): void {
    this.#seen += amount;
    this.#timer ??= setTimeout(() => this.stop(), windowMs).unref();
    if (this.#seen > this.#perWindow) this.#stream.pause();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#seen = 0;
    this.#stream.resume();
  }
}
