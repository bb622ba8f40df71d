/** What comes of what is asked of a gateway: its own word, its end, or nothing at all. */
import { WraptoolError } from '../errors.ts';
import type { Proof } from '../restart/health.ts';
import type { Gateway } from '../supervise/supervisor.ts';

/** What came of a restart. `kept`: the gateway that was there goes on. `requested`: the host has it in hand. */
export type RestartResult = {
  readonly result: 'restarted' | 'reloaded' | 'kept' | 'failed' | 'requested';
  /** Why not, as a code; null where it was done. */
  readonly reason: string | null;
  readonly detail: string | null;
};

/** What a restart that was asked for before the session's end comes to. */
export function ended(): RestartResult {
  return { result: 'failed', reason: 'session_unreachable', detail: 'the session ends' };
}

export function endedFirst(): WraptoolError {
  return new WraptoolError('gateway_failed', 'the gateway ended before it had the address', {
    hint: "read its log in the session's folder",
  });
}

/** What keeps a gateway from being put in place: our own errors, and the system's; null for a fault of ours. */
export function asFailure(error: unknown): WraptoolError | null {
  if (error instanceof WraptoolError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return null;
  return new WraptoolError('gateway_failed', `the gateway could not be put in place: ${message}`);
}

export async function expectedOf(gateway: Gateway): Promise<{ tool: string; config: string }> {
  const { config, probe_tool: tool } = await gateway.give({ do: 'status' });
  return { tool: String(tool), config: String(config) };
}

/** `work` gives whether the old state was kept. */
export async function attempt(
  result: 'restarted' | 'reloaded',
  work: () => Promise<boolean | void>,
): Promise<RestartResult> {
  try {
    if ((await work()) !== true) return { result, reason: null, detail: null };
    return { result: 'kept', reason: 'config_invalid', detail: 'the config was not taken over' };
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    return { result: 'failed', reason: error.code, detail: error.message };
  }
}

/** A runtime that can't be asked proves nothing. */
export async function attemptProof(look: () => Promise<Proof>): Promise<Proof> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    return { source: 'client_namespace', ok: false, reasons: [error.message] };
  }
}

/** Whether the gateway did it; false where it has gone, or hangs. */
export async function happens(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    onlyGone(error);
    return false;
  }
}

export function onlyGone(error: unknown): void {
  if (!(error instanceof WraptoolError) || error.code !== 'gateway_failed') throw error;
}
