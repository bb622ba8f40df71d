/**
 * PURE: how often one namespace is restarted. A bucket of turns that fills by itself: a burst is done at once, then one
 * after the other; what comes on top of that waits for its turn, and of those only so many.
 */

export type RateLimit = {
  /** Turns of a full bucket. */
  readonly burst: number;
  /** Milliseconds in which one turn comes back. */
  readonly everyMs: number;
  readonly mostWaiting: number;
};

export const restartRate: RateLimit = { burst: 60, everyMs: 1_000, mostWaiting: 8 };

/** All that is kept of a bucket: when it will be full again, in ms of a clock that never goes back. Null: it is full. */
export type FullAt = number | null;

export type Turn =
  | { readonly fullAt: number; /** 0: now. */ readonly waitMs: number }
  /** As many as may wait do; nothing was taken. */
  | { readonly retryAfterMs: number };

export function takeTurn(fullAt: FullAt, now: number, limit: RateLimit = restartRate): Turn {
  const { burst, everyMs, mostWaiting } = limit;
  const from = Math.max(known(fullAt, now, limit) ?? now, now);
  const empty = from - burst * everyMs;
  const retryAfterMs = empty - (mostWaiting - 1) * everyMs - now;
  if (retryAfterMs > 0) return { retryAfterMs };
  return { fullAt: from + everyMs, waitMs: Math.max(0, empty + everyMs - now) };
}

/** The bucket when a turn that was taken is not used: who waits behind it keeps his own. */
export function giveBack(fullAt: number, { everyMs }: RateLimit = restartRate): number {
  return fullAt - everyMs;
}

/** The bucket as another process finds it: those who waited for the one before have gone with it. */
export function inherited(fullAt: FullAt, now: number, limit: RateLimit = restartRate): FullAt {
  const found = known(fullAt, now, limit);
  return found === null ? null : Math.min(found, now + limit.burst * limit.everyMs);
}

/** A time that this clock can't have given is another boot's. */
function known(fullAt: FullAt, now: number, { burst, everyMs, mostWaiting }: RateLimit): FullAt {
  return fullAt !== null && fullAt - now <= (burst + mostWaiting) * everyMs ? fullAt : null;
}
