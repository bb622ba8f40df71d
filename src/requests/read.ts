/** The ledger as the log has it now. */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { WraptoolError } from '../errors.ts';
import { followKeys } from '../log/keys.ts';
import { Ledger } from './ledger.ts';
import type { Request } from './types.ts';

export interface LedgerReader {
  readonly ledger: Ledger;
  /** Takes in what is new; one read at a time. */
  refresh(): Promise<void>;
}

export function readLedger(dir: string): LedgerReader {
  const follower = followKeys(dir);
  const ledger = new Ledger();
  let reading: Promise<void> = Promise.resolve();
  /** A read that has not begun yet will see whatever is there now: one is enough for all who ask meanwhile. */
  let queued: Promise<void> | null = null;
  return {
    ledger,
    refresh() {
      if (queued !== null) return queued;
      const next = reading.then(async () => {
        queued = null;
        ledger.add(await follower.poll());
        await settleBegun(ledger);
      });
      queued = next;
      // A read that failed fails for those who wait for it; the next one tries again.
      reading = next.catch(() => undefined);
      return next;
    },
  };
}

/** Where the writer of a config died before it could say that it was done, the file says it. */
async function settleBegun(ledger: Ledger): Promise<void> {
  for (const { id, status, begun } of ledger.requests.values())
    if (status === 'pending' && begun !== null && (await hashOf(begun.file)) === begun.after)
      ledger.settle(id);
}

async function hashOf(file: string): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** An id that none has yet: a second one of that name would take the first one's place. */
export function freshId(kind: 'req' | 'grt', taken: ReadonlyMap<string, unknown>): string {
  for (;;) {
    const id = `${kind}_${randomBytes(4).toString('hex')}`;
    if (!taken.has(id)) return id;
  }
}

const mostNamed = 8;

/** The one whose id begins so, with or without its `req_` or `grt_`. Throws request_unknown, usage. */
export function byPrefix<T extends { readonly id: string }>(
  all: ReadonlyMap<string, T>,
  prefix: string,
  what: 'request' | 'grant',
): T {
  const found = [...all.values()].filter(
    ({ id }) => prefix !== '' && (id.startsWith(prefix) || id.slice(4).startsWith(prefix)),
  );
  const exact = found.find(({ id }) => id === prefix) ?? (found.length === 1 ? found[0] : undefined);
  if (exact) return exact;
  if (found.length === 0)
    throw new WraptoolError('request_unknown', `there is no ${what} "${prefix}"`, {
      hint: `"wraptool ${what}s list --all" shows all`,
    });
  const some = found.slice(0, mostNamed).map(({ id }) => id);
  const rest = found.length > mostNamed ? ` and ${found.length - mostNamed} more` : '';
  throw new WraptoolError('usage', `"${prefix}" could be ${some.join(', ')}${rest}`, {
    hint: 'write more of it',
  });
}

/** Whether the gateway of the request's session runs, as far as the log and the process table tell. */
export function isRunning(ledger: Ledger, { sessionId }: Request): boolean {
  const gateway = ledger.gateways.get(sessionId ?? '');
  return gateway !== undefined && gateway.running && lives(gateway.pid);
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
