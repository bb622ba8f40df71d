/** A gateway's side: it writes requests and uses of grants, and reads decisions. It can decide nothing. */
import { createHash } from 'node:crypto';
import { watch, type FSWatcher } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { takeClaim } from '../edit/lock.ts';
import type { Log } from '../log/append.ts';
import { bareId } from './ledger.ts';
import { freshId, isRunning, readLedger } from './read.ts';
import { isExpired, stateOf, type Capability, type Grant, type Request } from './types.ts';

export type Asked = Capability & {
  readonly call: string | null;
  readonly cwd: string | null;
  readonly rationale: string;
  readonly enables: string | null;
  readonly client: string;
};

export type BookOptions = {
  readonly log: Log;
  /** Id of the session: requests and grants of others are none of this gateway's business. */
  readonly sessionId: string;
  /** The config that `--apply` edits, as it was named. */
  readonly configFile: string;
  /** A request that was not there before, written and on disk. */
  readonly onRequest: (request: Request) => void;
  /** Reading the log failed: requests and grants are as they were. */
  readonly fault: (error: unknown) => void;
};

export interface RequestBook {
  /** This session's request as the log has it now; null where there is none of that id. */
  find(id: string): Promise<Request | null>;
  /** Joins an equal one that is pending or was decided in the last hour; a string says which limit stands against a new one. */
  ask(asked: Asked): Promise<Request | string>;
  /** Grants of this session that are in force now, oldest first. */
  grants(): readonly Grant[];
  /** This session's requests that `--apply` put into this config, which the gateway may not have loaded yet. */
  applied(): readonly Request[];
  refresh(): Promise<void>;
  /** Whether a call that is denied may have been granted since the log was last looked at. */
  worthLooking(): boolean;
  /**
   * Uses a grant once: `write` records the use, with what is left of it, while no other gateway can. False where it is
   * not in force any more.
   */
  use(id: string, write: (left: number | null) => void): Promise<boolean>;
  /** Called after each change of this session's requests and grants, their expiry included; returns the release. */
  onChanged(listener: () => void): () => void;
  close(): void;
}

export const requestLimits = { pendingPerSession: 20, perHour: 60, pendingInAll: 200 } as const;
const hour = 3_600_000;
/** Where the kernel tells nothing of a change (another machine's write, a queue that ran over). */
const lookMs = 1_000;
/** A timer takes no longer time. */
const longestTimer = 2 ** 31 - 1;

export function createRequestBook(options: BookOptions): RequestBook {
  const { log, sessionId } = options;
  const reader = readLedger(log.dir);
  const { ledger } = reader;
  const listeners = new Set<() => void>();
  let told = '';
  let expiry: NodeJS.Timeout | null = null;
  let watcher: FSWatcher | null = null;

  const mine = () => [...ledger.requests.values()].filter((request) => request.sessionId === sessionId);
  const started = Date.now();
  /** What was granted for the life of a bare gateway is not for the next one. */
  const isPast = ({ scope, at }: Grant) => scope === 'session' && at < started && bareId.test(sessionId);
  /** When a grant ends by a clock that nobody sets: one that is put back gives no more time. */
  const ends = new Map<string, number>();
  const isOver = ({ id, at, expires }: Grant): boolean => {
    if (expires === null) return false;
    const now = performance.now();
    const end = ends.get(id) ?? now + Math.min(expires - Date.now(), expires - at);
    ends.set(id, end);
    return now >= end;
  };
  const inForce = () =>
    [...ledger.grants.values()].filter(
      (grant) =>
        grant.sessionId === sessionId &&
        stateOf(grant, Date.now()) === 'live' &&
        !isPast(grant) &&
        !isOver(grant),
    );

  async function refresh(): Promise<void> {
    await reader.refresh();
    tell();
  }

  /** Listeners hear of a state once. */
  function tell(): void {
    const grants = inForce();
    const now = JSON.stringify([mine().map(({ id, status }) => [id, status]), grants.map(({ id }) => id)]);
    if (expiry !== null) clearTimeout(expiry);
    const next = Math.min(...grants.map(({ expires }) => expires ?? Infinity));
    expiry = Number.isFinite(next)
      ? setTimeout(tell, Math.min(longestTimer, Math.max(1, next - Date.now() + 1)))
      : null;
    expiry?.unref();
    if (now === told) return;
    told = now;
    for (const listener of listeners) listener();
  }

  const look = () => void refresh().catch(options.fault);
  const own = () => `${log.file}.jsonl`;
  try {
    // Our own calls are no news.
    watcher = watch(log.dir, (_event, name) => {
      if (name === null || (name.endsWith('.jsonl') && name !== own())) look();
    });
    watcher.on('error', options.fault);
    watcher.unref();
  } catch (error) {
    options.fault(error);
  }
  const timer = setInterval(() => {
    if (worthLooking()) look();
  }, lookMs);
  timer.unref();

  function worthLooking(): boolean {
    return inForce().length > 0 || mine().some(({ status }) => status === 'pending');
  }

  function limit(now: number): string | null {
    const pending = (requests: readonly Request[]) =>
      requests.filter((request) => request.status === 'pending' && !isExpired(request, now)).length;
    if (pending(mine()) >= requestLimits.pendingPerSession)
      return `${requestLimits.pendingPerSession} requests of this session are pending: wait until the operator has decided some`;
    if (mine().filter(({ at }) => now - at < hour).length >= requestLimits.perHour)
      return `this session has made ${requestLimits.perHour} requests within an hour: wait before making more`;
    // What sessions left behind that have ended keeps no other from asking.
    if (
      pending([...ledger.requests.values()].filter((request) => isRunning(ledger, request))) >=
      requestLimits.pendingInAll
    )
      return `${requestLimits.pendingInAll} requests are pending in all: wait until the operator has decided some`;
    return null;
  }

  /** Pending, or decided in the last hour and still so: what a spent grant allowed may be asked for again. */
  function answersFor(digest: string, now: number): Request | undefined {
    return mine().findLast((request) => {
      if (request.digest !== digest) return false;
      const { status, decision } = request;
      if (status === 'pending') return !isExpired(request, now);
      if (decision === null || now - decision.at >= hour) return false;
      const grant = ledger.grants.get(decision.grant ?? '');
      return grant === undefined || stateOf(grant, now) === 'live';
    });
  }

  function write(asked: Asked, digest: string): string {
    const id = freshId('req', ledger.requests);
    const { tool, subcommand, flags, args, argv, call, cwd, rationale, enables, client } = asked;
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
      session_id: sessionId,
      config_file: options.configFile,
      argv: argv && [...argv],
      cwd,
    });
    return id;
  }

  // One after the other, so that equal requests that come together are joined too.
  let asking: Promise<unknown> = Promise.resolve();
  async function ask(asked: Asked): Promise<Request | string> {
    await refresh();
    const digest = digestOf(asked);
    const equal = answersFor(digest, Date.now());
    if (equal) return equal;
    const against = limit(Date.now());
    if (against !== null) return against;
    const id = write(asked, digest);
    await refresh();
    const request = ledger.requests.get(id);
    if (!request) return `the request '${id}' was logged but cannot be read back`;
    options.onRequest(request);
    return request;
  }

  return {
    async find(id) {
      await refresh();
      const request = ledger.requests.get(id);
      return request?.sessionId === sessionId ? request : null;
    },
    ask(asked) {
      const next = asking.then(() => ask(asked));
      asking = next.catch(() => undefined);
      return next;
    },
    grants: inForce,
    applied: () => mine().filter(({ decision }) => decision?.scope === 'apply'),
    refresh,
    worthLooking,
    async use(id, record) {
      const current = () => inForce().find((grant) => grant.id === id);
      if (current()?.uses === null) {
        await refresh();
        if (!current()) return false;
        record(null);
        return true;
      }
      const claim = await takeClaim(path.join(await fs.realpath(log.dir), 'uses'), fs);
      try {
        await refresh();
        const grant = current();
        if (!grant || grant.uses === null) return false;
        record(grant.uses - grant.used - 1);
        await refresh();
        return true;
      } finally {
        await claim.release();
      }
    },
    onChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      watcher?.close();
      clearInterval(timer);
      if (expiry !== null) clearTimeout(expiry);
    },
  };
}

/** Flags are a set; words and arguments are not. Of a refused call its argv is what counts, not which time it was. */
function digestOf({ tool, subcommand, flags, args, argv }: Capability): string {
  const parts =
    argv === null ? [tool, subcommand, [...new Set(flags)].toSorted(), args] : [tool, subcommand, argv];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
