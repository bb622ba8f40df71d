/** Asking for a restart, and what one would need: one way for the command line and the operator's page. */
import type { GateFacts, RestartRequest } from '../restart/gate.ts';
import { answer, preview, type Answer, type Preview } from '../restart/preview.ts';
import { principalOfPeer, type Principal } from '../restart/principal.ts';
import { knownNamespaces } from './restart-namespaces.ts';

/** Of this process; 0 where the system has none. */
export function ownUid(): number {
  return process.geteuid?.() ?? 0;
}

const self = (): Principal => principalOfPeer(ownUid(), ownUid());

/** Nothing is done. */
export async function previewRestart(
  request: Omit<RestartRequest, 'confirm'>,
  principal: Principal = self(),
): Promise<Preview> {
  return preview(request, await factsHere(principal));
}

/** The gates' answer; no answer means "restarted". */
export async function askRestart(request: RestartRequest, principal: Principal = self()): Promise<Answer> {
  return answer(request, await factsHere(principal));
}

/**
 * What is known without a supervisor. The operator's authorization and the hook are those of the supervisor's
 * environment: this process's own count for nothing.
 */
async function factsHere(principal: Principal): Promise<GateFacts> {
  const { namespaces, markers } = await knownNamespaces(process.env);
  return {
    principal,
    namespaces,
    markers,
    operatorAuthorization: undefined,
    hook: undefined,
  };
}
