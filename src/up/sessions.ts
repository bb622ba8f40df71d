/** What other commands do with sessions: view, end, and reclaim what a dead one left. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import type { Health } from '../restart/health.ts';
import { signal, waitForEnd } from '../supervise/process.ts';
import { parseRuntime } from './choose.ts';
import { sessionHealth, sessionStatus } from './health.ts';
import { createRuntime } from './runtime/create.ts';
import { findSession, listSessions, removeUnfinished, type Session } from './session.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type SessionView = {
  readonly name: string;
  readonly id: string;
  readonly harness: string;
  readonly runtime: string;
  readonly workspace: string;
  readonly created: string;
  /** starting, running, ending, or what is wrong. */
  readonly status: string;
  /** What may be claimed of its gateway. */
  readonly health: Health;
};

/** An orderly teardown stops a container, which may take its grace period. */
const endTimeoutMs = 15_000;

export async function viewSessions(env: Env): Promise<SessionView[]> {
  const views: SessionView[] = [];
  for (const { session, alive } of await listSessions(env)) {
    if (session === null || !alive) continue;
    const { name, id, harness, runtime, workspace, created } = session.state;
    const health = await sessionHealth(env, session);
    const status = sessionStatus(session, health);
    views.push({ name, id, harness, runtime, workspace, created, status, health });
  }
  return views;
}

/**
 * Removes what sessions without a living supervisor left; one line for each thing removed. One that cannot be reclaimed
 * now (its engine is away) is told to `fault` and stays for the next time.
 */
export async function reclaimDead(env: Env, fault: (error: WraptoolError) => void): Promise<string[]> {
  const lines: string[] = [];
  await removeUnfinished(env);
  for (const { session, dir, alive } of await listSessions(env)) {
    if (alive) continue;
    if (session === null) {
      await rm(dir, { recursive: true, force: true });
      lines.push(`reclaimed the folder of "${path.basename(dir)}", which had no readable state`);
    } else {
      try {
        lines.push(...(await reclaim(session)));
      } catch (error) {
        if (!(error instanceof WraptoolError)) throw error;
        fault(error);
      }
    }
  }
  return lines;
}

async function reclaim(session: Session): Promise<string[]> {
  const { name, id, runtime, gateway, facts } = session.state;
  const lines: string[] = [`reclaimed "${name}", whose supervisor is gone`];
  if (gateway !== null && (await signal(gateway, 'SIGTERM'))) {
    if (!(await waitForEnd(gateway, 2000))) await signal(gateway, 'SIGKILL');
    lines.push(`ended its gateway (pid ${gateway.pid})`);
  }
  const known = parseRuntime(runtime);
  if (known !== 'auto') lines.push(...(await createRuntime(known).reclaim({ name, id, facts })));
  await session.remove();
  return lines;
}

/** Asks the supervisor to end the session in order and waits; what is left then is reclaimed. */
export async function endSession(env: Env, name: string): Promise<string[]> {
  const { session, alive } = await findSession(env, name);
  if (!alive) return reclaim(session);
  const { supervisor } = session.state;
  await signal(supervisor, 'SIGTERM');
  if (await waitForEnd(supervisor, endTimeoutMs)) {
    const left = (await listSessions(env)).find((entry) => entry.session?.state.id === session.state.id);
    return left === undefined ? [] : reclaim(session);
  }
  throw new WraptoolError(
    'runtime_failed',
    `"${name}" did not end within ${endTimeoutMs / 1000} s (pid ${supervisor.pid})`,
    {
      hint: `end the process by hand, then "wraptool ps" reclaims what it left`,
    },
  );
}
