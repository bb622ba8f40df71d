/** All that is known of one session, from its folder and from its supervisor. */
import { WraptoolError } from '../errors.ts';
import { isAlive, type ProcessRef } from '../supervise/process.ts';
import { ask } from './control/client.ts';
import type { LiveFacts } from './control/session-control.ts';
import type { Finding } from './preflight.ts';
import { findSession, type Session, type SessionState } from './session.ts';
import { sessionHealth, sessionStatus } from './health.ts';
import type { Health } from '../restart/health.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Inspection = Pick<
  SessionState,
  | 'name'
  | 'id'
  | 'harness'
  | 'runtime'
  | 'workspace'
  | 'roots'
  | 'owner'
  | 'config'
  | 'remotes'
  | 'created'
  | 'facts'
> & {
  /** As `ps` says it; `dead` where the supervisor is gone. */
  readonly status: string;
  readonly home: string | null;
  readonly network: string | null;
  /** Folders and files of it on the host. */
  readonly paths: {
    readonly session: string;
    readonly socket: string;
    readonly gateway_log: string;
    readonly log: string | null;
  };
  readonly supervisor: { readonly pid: number; readonly alive: boolean; readonly answers: boolean };
  readonly health: Health;
  readonly gateway: { readonly pid: number; readonly alive: boolean } | null;
  /** Null before the checks inside the runtime ran. */
  readonly preflight: readonly Finding[] | null;
  /** Commands that `exec` runs in it now. */
  readonly commands: readonly (readonly string[])[];
};

/** Errors: session_unknown. A supervisor that does not answer is no error: the folder tells the rest. */
export async function inspectSession(env: Env, name: string): Promise<Inspection> {
  const { session, alive } = await findSession(env, name);
  const { state } = session;
  const health = await sessionHealth(env, session);
  const live = alive ? await liveFacts(env, name) : null;
  const { id, harness, runtime, workspace, roots, owner, config, remotes, created, facts } = state;
  return {
    name,
    id,
    harness,
    runtime,
    status: alive ? sessionStatus(session, health) : 'dead',
    health,
    created,
    workspace,
    roots,
    owner,
    home: state.home ?? null,
    network: state.network ?? null,
    config,
    remotes,
    paths: {
      session: session.dir,
      socket: session.socket,
      gateway_log: gatewayLog(session),
      log: state.log ?? null,
    },
    supervisor: { pid: state.supervisor.pid, alive, answers: live !== null },
    gateway: await aliveness(state.gateway),
    facts,
    preflight: state.preflight ?? null,
    commands: live?.commands ?? [],
  };
}

export function gatewayLog(session: Session): string {
  return `${session.dir}/gateway.log`;
}

async function aliveness(ref: ProcessRef | null): Promise<Inspection['gateway']> {
  return ref === null ? null : { pid: ref.pid, alive: await isAlive(ref) };
}

async function liveFacts(env: Env, name: string): Promise<LiveFacts | null> {
  try {
    const { socket, answer } = await ask(env, name, { do: 'inspect' });
    socket.destroy();
    return answer as unknown as LiveFacts;
  } catch (error) {
    if (error instanceof WraptoolError && ['session_unreachable', 'session_unknown'].includes(error.code))
      return null;
    throw error;
  }
}
