/**
 * A call that a client sends again because it lost the answer. Its key tells whether it ran: in this process by what is
 * remembered, for a gateway that died by what that one logged before it acted.
 */
import { createHash } from 'node:crypto';
import { readLog } from '../log/read.ts';
import type { Caller, ToolResult } from './core.ts';
import { fitToClient } from './fit.ts';
import { errorResult } from './results.ts';

export interface Repeats {
  /** Runs `work` once per key; later attempts get the same answer, or are told that it ran. */
  once(caller: Caller, name: string, args: unknown, work: () => Promise<ToolResult>): Promise<ToolResult>;
}

/** A client gives up long before this. */
const rememberMs = 10 * 60_000;
const mostRemembered = 256;
const mostChars = 8 * 1024 * 1024;
const mostForgotten = 4096;

type Known = { readonly fingerprint: string; readonly result: Promise<ToolResult>; size: number | null };
type Past = { ran: boolean; ended: string | null };

export function createRepeats(logDir: string): Repeats {
  const known = new Map<string, Known>();
  /** Keys whose answers were let go. */
  const forgotten = new Set<string>();
  let held = 0;
  let past: Promise<Map<string, Past>> | null = null;

  function remember(key: string, fingerprint: string, work: () => Promise<ToolResult>): Promise<ToolResult> {
    const call: Known = { fingerprint, result: work(), size: null };
    known.set(key, call);
    const ended = (size: number) => {
      call.size = size;
      held += size;
      makeRoom();
    };
    call.result.then(
      (result) => ended(JSON.stringify(result).length),
      () => ended(0),
    );
    return call.result;
  }

  /** Oldest first, and never a call that runs. */
  function makeRoom(): void {
    for (const [key, { size }] of known) {
      if (known.size <= mostRemembered && held <= mostChars) return;
      if (size === null) continue;
      held -= size;
      known.delete(key);
      forgotten.add(key);
    }
    while (forgotten.size > mostForgotten) forgotten.delete(forgotten.values().next().value as string);
  }

  return {
    async once(caller, name, args, work) {
      if (!caller.repeat) return work();
      const { key, attempt } = caller.repeat;
      const fingerprint = createHash('sha256')
        .update(JSON.stringify([name, args]))
        .digest('hex');
      const before = known.get(key);
      if (before && before.fingerprint !== fingerprint)
        return told(caller, 'the idempotency key of this call belongs to another call: nothing was run');
      if (before) return before.result;
      if (forgotten.has(key)) return told(caller, said({ ran: true, ended: 'ended' }));
      if (attempt > 1) {
        // What is asked for was logged by a gateway that has ended: reading once is enough.
        past ??= readPast(logDir, Date.now() - rememberMs);
        const found = (await past).get(key);
        if (found?.ran) return told(caller, said(found));
      }
      return remember(key, fingerprint, work);
    },
  };
}

const told = (caller: Caller, text: string) =>
  fitToClient(errorResult(text, { decision: 'not_repeated' }), caller.client);

const said = ({ ended }: Past) =>
  ended === null
    ? 'the gateway was restarted while this call ran: whether it ended is unknown, and it was not run again'
    : `this call has ${ended}: its output is lost, and it was not run again`;

async function readPast(dir: string, since: number): Promise<Map<string, Past>> {
  const byKey = new Map<string, Past>();
  const bySeq = new Map<string, Past>();
  const earliest = new Date(since).toISOString();
  for await (const { seq, record } of readLog(dir, { changedSince: since })) {
    if (record.time < earliest) continue;
    if (record.event === 'received' && record.key !== null) {
      const call = byKey.get(record.key) ?? { ran: false, ended: null };
      byKey.set(record.key, call);
      bySeq.set(seq, call);
    } else if (record.event === 'decided' && record.decision === 'allow') {
      const call = bySeq.get(record.call);
      if (call) call.ran = true;
    } else if (record.event === 'finished') {
      const call = bySeq.get(record.call);
      if (call) call.ended = record.exit_code === null ? 'ended' : `ended with exit code ${record.exit_code}`;
    }
  }
  return byKey;
}
