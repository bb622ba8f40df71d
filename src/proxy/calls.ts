/** Calls in flight. */
import type { UpstreamCallOptions } from './types.ts';

export type Call = {
  readonly options: UpstreamCallOptions;
  /** Aborted when the call has its answer, whatever it is. */
  readonly over: AbortSignal;
};

export type Calls = {
  readonly size: number;
  run<T>(options: UpstreamCallOptions, work: () => Promise<T>): Promise<T>;
  all(): Iterable<Call>;
  /** The call, if there is exactly one. */
  only(): Call | null;
  /** Resolves when none is in flight. */
  drained(): Promise<void>;
};

export function createCalls(): Calls {
  const calls = new Set<Call>();
  let waiting: (() => void)[] = [];
  return {
    get size() {
      return calls.size;
    },
    async run(options, work) {
      const over = new AbortController();
      const call = { options, over: over.signal };
      calls.add(call);
      try {
        return await work();
      } finally {
        calls.delete(call);
        over.abort();
        if (calls.size === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    },
    all: () => calls,
    only: () => (calls.size === 1 ? [...calls][0]! : null),
    drained: () => new Promise((resolve) => (calls.size === 0 ? resolve() : waiting.push(resolve))),
  };
}
