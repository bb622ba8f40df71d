/** Turns of restarts in one supervisor: the bucket of each namespace, and the wait for what is over it. */
import {
  giveBack,
  inherited,
  restartRate,
  takeTurn,
  type FullAt,
  type RateLimit,
} from '../../restart/rate.ts';

/** Milliseconds since the machine started: the same for all processes, and never set back. */
export function sinceBoot(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export type TurnsOptions = {
  readonly clock?: () => number;
  readonly limit?: RateLimit;
  /** Where the bucket outlives this process. Only for one that has a single namespace. */
  readonly kept?: KeptBucket;
};

export type KeptBucket = {
  readonly load: () => Promise<FullAt>;
  readonly save: (fullAt: number) => Promise<void>;
};

export type Granted = 'now' | 'waited' | 'gone' | { readonly retryAfterMs: number };

export class Turns {
  readonly #clock: () => number;
  readonly #limit: RateLimit;
  readonly #kept: KeptBucket | null;
  readonly #buckets = new Map<string, number>();
  #loading: Promise<FullAt> | null = null;

  constructor({ clock = sinceBoot, limit = restartRate, kept }: TurnsOptions = {}) {
    this.#clock = clock;
    this.#limit = limit;
    this.#kept = kept ?? null;
  }

  /** `waiting` is told for how long, in ms; whoever has gone meanwhile has given his turn back. */
  async take(namespace: string, waiting: (ms: number) => void, gone: AbortSignal): Promise<Granted> {
    const before = await this.#before();
    const turn = takeTurn(this.#buckets.get(namespace) ?? before, this.#clock(), this.#limit);
    if ('retryAfterMs' in turn) return { retryAfterMs: turn.retryAfterMs };
    this.#buckets.set(namespace, turn.fullAt);
    await this.#kept?.save(turn.fullAt);
    if (turn.waitMs === 0) return 'now';
    waiting(turn.waitMs);
    if (await passed(turn.waitMs, gone)) return 'waited';
    this.#buckets.set(namespace, giveBack(this.#buckets.get(namespace) ?? turn.fullAt, this.#limit));
    return 'gone';
  }

  async #before(): Promise<FullAt> {
    if (this.#kept === null) return null;
    this.#loading ??= this.#kept.load().then((fullAt) => inherited(fullAt, this.#clock(), this.#limit));
    return this.#loading;
  }
}

/** Whether the time passed; false at once where `gone` comes first. */
function passed(ms: number, gone: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (gone.aborted) return resolve(false);
    const over = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      gone.removeEventListener('abort', over);
      resolve(true);
    }, ms);
    gone.addEventListener('abort', over, { once: true });
  });
}
