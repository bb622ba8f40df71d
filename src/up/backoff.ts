/** When a gateway that crashed is started again: at once never, and later the more often it did. */

const firstMs = 1_000;
const mostMs = 60_000;
/** One that ran this long did not crash because it was started. */
const soundMs = 60_000;

export class Backoff {
  readonly #again: () => void;
  #failures = 0;
  #since: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(again: () => void) {
    this.#again = again;
  }

  /** One runs: nothing is pending any more. */
  started(): void {
    this.stop();
    this.#since = performance.now();
  }

  /** One ended, or did not start. */
  failed(): void {
    if (this.#since !== null && performance.now() - this.#since > soundMs) this.#failures = 0;
    this.#since = null;
    this.#failures += 1;
    this.stop();
    this.#timer = setTimeout(this.#again, Math.min(mostMs, firstMs * 2 ** (this.#failures - 1)));
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
