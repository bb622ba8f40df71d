/**
 * Whether a call that may change something is admitted now. One of a rule with `read_only: true` always is. Calls are
 * counted, so that a restart can wait for those that had begun.
 */

export type Hold = { readonly reason: 'quiescing' | 'runtime_unproven'; readonly detail: string };

export interface Admission {
  /** Why a call that may change something is refused now; null where it may run. */
  hold(): Promise<Hold | null>;
  /** From here on such calls are refused; resolves when all that had begun have ended. */
  quiesce(): Promise<void>;
  resume(): void;
  /** Whether the supervisor has seen this gateway work from inside the runtime. */
  prove(proven: boolean): void;
  /** Runs a call as one that a restart waits for. */
  track<T>(work: () => Promise<T>): Promise<T>;
}

export type AdmissionOptions = {
  /** False: nothing that changes something runs before `prove(true)`. */
  readonly proven: boolean;
  /** Why the namespace is contaminated, as it is now; null where it is not. */
  readonly contamination: () => Promise<string | null>;
};

export function createAdmission(options: AdmissionOptions): Admission {
  let { proven } = options;
  let quiescing = false;
  const running = new Set<Promise<unknown>>();
  return {
    async hold() {
      const contaminated = proven && !quiescing ? await options.contamination() : null;
      // After the wait: a restart may have begun meanwhile.
      if (quiescing)
        return {
          reason: 'quiescing',
          detail: 'the gateway is being restarted and takes no new changes: send it again in a moment',
        };
      if (!proven)
        return {
          reason: 'runtime_unproven',
          detail:
            'this gateway is not proven from inside the runtime yet: until then only rules with read_only: true run',
        };
      return contaminated === null
        ? null
        : {
            reason: 'runtime_unproven',
            detail: `${contaminated}: until the operator clears it only rules with read_only: true run`,
          };
    },
    async quiesce() {
      quiescing = true;
      await Promise.allSettled(running);
    },
    resume() {
      quiescing = false;
    },
    prove(value) {
      proven = value;
    },
    async track(work) {
      const call = work();
      running.add(call);
      try {
        return await call;
      } finally {
        running.delete(call);
      }
    },
  };
}
