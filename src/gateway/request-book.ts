/** Requests for capabilities as the log has them: pending until an operator's decision is there. */
import { createHash, randomBytes } from 'node:crypto';
import type { Log } from '../log/append.ts';
import { followLog } from '../log/read.ts';

export type Wish = {
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly flags: readonly string[];
  readonly args: readonly string[] | null;
};

export type Asked = Wish & {
  readonly call: string | null;
  readonly rationale: string;
  readonly enables: string | null;
  readonly client: string;
};

export type RequestState = {
  readonly id: string;
  readonly digest: string;
  readonly session: string | null;
  readonly at: number;
  status: 'pending' | 'approved' | 'denied';
  reason: string | null;
  verdict: string | null;
  decidedAt: number;
};

export interface RequestBook {
  /** The request's state as the log has it now; null where there is none of that id. */
  find(id: string): Promise<RequestState | null>;
  /** Joins an equal one that is pending or was decided in the last hour; a string says which limit stands against a new one. */
  ask(asked: Asked): Promise<RequestState | string>;
}

export const requestLimits = { pendingPerSession: 20, perHour: 60, pendingInAll: 200 } as const;
const hour = 3_600_000;

export function createRequestBook(log: Log, session: string | null): RequestBook {
  const follower = followLog(log.dir, ['requested', 'approved', 'denied']);
  const byId = new Map<string, RequestState>();
  let refreshing: Promise<void> = Promise.resolve();

  /** One read at a time: the follower keeps its place in each file. */
  function refresh(): Promise<void> {
    const next = refreshing.then(async () => {
      for (const { record } of await follower.poll()) {
        if (record.event === 'requested') {
          byId.set(record.id, {
            id: record.id,
            digest: record.digest,
            session: record.session,
            at: Date.parse(record.time),
            status: 'pending',
            reason: null,
            verdict: null,
            decidedAt: 0,
          });
          continue;
        }
        const state = 'id' in record && typeof record.id === 'string' ? byId.get(record.id) : undefined;
        if (!state) continue;
        state.decidedAt = Date.parse(record.time);
        if (record.event === 'approved') {
          state.status = 'approved';
          state.verdict = record.verdict;
        } else if (record.event === 'denied') {
          state.status = 'denied';
          state.reason = record.reason;
        }
      }
    });
    // A read that failed fails for those who wait for it; the next one tries again.
    refreshing = next.then(
      () => undefined,
      () => undefined,
    );
    return next;
  }

  function limit(now: number): string | null {
    const mine = [...byId.values()].filter((state) => state.session === session);
    const pending = (states: readonly RequestState[]) =>
      states.filter(({ status }) => status === 'pending').length;
    if (pending(mine) >= requestLimits.pendingPerSession)
      return `${requestLimits.pendingPerSession} requests of this session are pending: wait until the operator has decided some`;
    if (mine.filter(({ at }) => now - at < hour).length >= requestLimits.perHour)
      return `this session has made ${requestLimits.perHour} requests within an hour: wait before making more`;
    if (pending([...byId.values()]) >= requestLimits.pendingInAll)
      return `${requestLimits.pendingInAll} requests are pending in all: wait until the operator has decided some`;
    return null;
  }

  return {
    async find(id) {
      await refresh();
      return byId.get(id) ?? null;
    },
    async ask(asked) {
      await refresh();
      const now = Date.now();
      const digest = digestOf(asked);
      const equal = [...byId.values()].findLast(
        (state) =>
          state.digest === digest &&
          state.session === session &&
          (state.status === 'pending' || now - state.decidedAt < hour),
      );
      if (equal) return equal;
      const against = limit(now);
      if (against !== null) return against;
      const id = `req_${randomBytes(4).toString('hex')}`;
      const { tool, subcommand, flags, args, call, rationale, enables, client } = asked;
      log.append({
        event: 'requested',
        id,
        digest,
        tool,
        subcommand: [...subcommand],
        flags: [...flags],
        args: args && [...args],
        call,
        rationale,
        enables,
        client,
      });
      await refresh();
      return byId.get(id) ?? `the request '${id}' was logged but cannot be read back`;
    },
  };
}

/** Flags are a set; words and arguments are not. */
function digestOf({ tool, subcommand, flags, args }: Wish): string {
  const parts = [tool, subcommand, [...new Set(flags)].toSorted(), args];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
