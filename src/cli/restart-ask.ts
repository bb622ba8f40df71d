/** Asking for a restart, and what one would need: one way for the command line and the operator's page. */
import path from 'node:path';
import { loadConfig } from '../config/load.ts';
import { WraptoolError } from '../errors.ts';
import { openLog } from '../log/append.ts';
import { stateDir } from '../paths.ts';
import type { GateFacts, RestartRequest } from '../restart/gate.ts';
import { answer, preview, type Answer, type Preview } from '../restart/preview.ts';
import { principalOfPeer, type Principal } from '../restart/principal.ts';
import { askPreview, askRestart } from '../up/control/restart-client.ts';
import type { RestartOutcome } from '../up/control/restart-server.ts';
import { knownNamespaces, supervisorOf } from '../up/namespaces.ts';
import { listSessions } from '../up/session.ts';
import { note as remark } from './voice.ts';

/** Of this process; 0 where the system has none. */
export function ownUid(): number {
  return process.geteuid?.() ?? 0;
}

const self = (): Principal => principalOfPeer(ownUid(), ownUid());

/** `login`: of the page's login that asks, where one does. Nothing is done. The supervisor's word where there is one. */
export async function previewRestart(
  request: Omit<RestartRequest, 'confirm'>,
  login?: Principal,
): Promise<Preview> {
  const supervisor = await supervisorOf(process.env, request.namespace);
  return supervisor === null
    ? preview(request, await factsHere(login ?? self()))
    : askPreview(process.env, supervisor, { ...request, confirm: null, ...passedOn(login) });
}

function passedOn(login: Principal | undefined): { login?: Principal['role'] } {
  return login === undefined ? {} : { login: login.role };
}

export type Requested = {
  /** The gates'; none means "restarted". */
  readonly answer: Answer;
  /** With `wait`, of what was handed over. */
  readonly outcome: RestartOutcome | null;
};

/** Judged by the supervisor; refused here where there is none. `login` as for previewRestart. */
export async function requestRestart(
  request: RestartRequest,
  wait: boolean,
  login?: Principal,
): Promise<Requested> {
  const supervisor = await supervisorOf(process.env, request.namespace);
  return supervisor === null
    ? { answer: await refusedHere(request, login ?? self()), outcome: null }
    : askRestart(process.env, supervisor, { ...request, ...passedOn(login) }, wait, (ms) =>
        remark(
          `"${request.namespace}" is restarted often: this one waits ${Math.ceil(ms / 1000)} s for its turn`,
        ),
      );
}

/**
 * What is known without a supervisor. The operator's authorization and the hook are those of the supervisor's
 * environment: this process's own count for nothing.
 */
async function factsHere(principal: Principal): Promise<GateFacts> {
  const { namespaces, markers } = await knownNamespaces(process.env, remark);
  return { principal, namespaces, markers, operatorAuthorization: undefined, hook: undefined };
}

/** Nobody is there who could act: what keeps it from being handed over is said, and recorded as any other refusal. */
async function refusedHere(request: RestartRequest, principal: Principal): Promise<Answer> {
  const facts = await factsHere(principal);
  const result = answer(request, facts);
  const log = await openLog(await logFolder(undefined), { session: null });
  try {
    log.append({
      event: 'restart',
      namespace: request.namespace.slice(0, 200),
      actor: facts.principal.actor,
      mode: request.mode.slice(0, 100),
      result: 'refused',
      reason: result.reason_code,
      action_id: result.action_id.slice(0, 200),
    });
  } finally {
    log.close();
  }
  return result;
}

/** The config's log; where none is named, that of the live session that the namespace is in; else the default one. */
export async function logFolder(config: string | undefined, namespace?: string): Promise<string> {
  const own = config === undefined ? await logOfSession(namespace?.split('/')[0]) : undefined;
  if (own !== undefined) return own;
  try {
    return (await loadConfig({ path: config, env: process.env })).config.requests.log;
  } catch (error) {
    if (config === undefined && error instanceof WraptoolError && error.code === 'config_missing')
      return path.join(stateDir(process.env), 'log');
    throw error;
  }
}

async function logOfSession(name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const live = (await listSessions(process.env)).find(
    ({ session, alive }) => alive && session?.state.name === name,
  );
  return live?.session?.state.log;
}
