/**
 * PURE: whether a restart may be handed over. The gates are tried in one order and the first that fails is the answer.
 * Nothing here acts: the best answer is that the host has to.
 */
import { actionOf, mayDo } from './actions.ts';
import { parseHook, type Hook } from './hook.ts';
import type { Principal } from './principal.ts';
import { modes, type Gate, type Marker, type Mode, type Namespace, type ReasonCode } from './types.ts';

export const operatorAuthorizationEnv = 'WRAPTOOL_OPERATOR_AUTHORIZATION';

export type RestartRequest = {
  readonly namespace: string;
  /** As it was asked for; `restart` or `reload` are known. */
  readonly mode: string;
  /** The phrase, null where none was given. */
  readonly confirm: string | null;
};

/** What the judging side knows. The two values are those of its own environment when it started. */
export type GateFacts = {
  readonly principal: Principal;
  readonly namespaces: readonly Namespace[];
  readonly operatorAuthorization: string | undefined;
  readonly hook: string | undefined;
  readonly markers: readonly Marker[];
};

export type Assessment = {
  /** True when all gates passed: it may be handed over, nothing more. */
  readonly allowed: boolean;
  readonly gates_passed: readonly Gate[];
  readonly reason_code: ReasonCode;
  readonly detail: string;
};

type Failure = { readonly code: ReasonCode; readonly detail: string } | null;

export function assess(request: RestartRequest, facts: GateFacts): Assessment {
  const gates: readonly (readonly [Gate, () => Failure])[] = [
    ['scope', () => scope(request, facts.namespaces)],
    ['capability', () => capability(request, facts.principal)],
    ['confirmation', () => confirmation(request)],
    ['operator_authorization', () => authorization(facts)],
    ['contamination', () => contamination(request, facts.markers)],
    ['hook', () => hookGate(request, facts)],
  ];
  const passed: Gate[] = [];
  for (const [gate, check] of gates) {
    const failure = check();
    if (failure !== null)
      return { allowed: false, gates_passed: passed, reason_code: failure.code, detail: failure.detail };
    passed.push(gate);
  }
  const detail = `every gate passed; the supervisor of "${request.namespace}" has to act`;
  return { allowed: true, gates_passed: passed, reason_code: 'host_action_required', detail };
}

/** Names that mean more than one, whatever their case and the blanks around them. */
const fleets: ReadonlySet<string> = new Set(['', 'all', 'fleet', 'any']);

/** Why mode or namespace is out of scope; null when both are known. */
export function scope(
  { mode, namespace }: Pick<RestartRequest, 'mode' | 'namespace'>,
  namespaces: readonly Namespace[],
): Failure {
  if (!isMode(mode))
    return { code: 'unknown_mode', detail: `"${mode}" is no mode; there are ${modes.join(' and ')}` };
  if (/[*?]/.test(namespace) || fleets.has(namespace.trim().toLowerCase()))
    return { code: 'fleet_scope_not_permitted', detail: 'one namespace at a time, by its exact name' };
  if (!namespaces.some(({ name }) => name === namespace))
    return { code: 'unknown_namespace', detail: `"${namespace}" is no live or recorded namespace` };
  return null;
}

export function isMode(mode: string): mode is Mode {
  return modes.some((known) => known === mode);
}

/** `system.restart_namespace` for the mode `restart`; for an unknown mode an action that nobody may do. */
export function actionIdOf(mode: string): string {
  return `system.${mode}_namespace`;
}

function capability({ mode }: RestartRequest, { role, actor }: Principal): Failure {
  const action = actionOf(actionIdOf(mode));
  if (mayDo(role, action) && !action.dual_control && !action.break_glass) return null;
  const detail =
    actor === 'unknown'
      ? `the supervisor is not told who asks, which needs Linux and the package koffi: nobody may do ${action.id}`
      : `${actor} may not do ${action.id}`;
  return { code: 'unauthorized', detail };
}

/** What has to be typed; it is good for this one namespace and mode. */
export function confirmationPhrase(mode: string, namespace: string): string {
  return `${mode} ${namespace}`;
}

function confirmation({ mode, namespace, confirm }: RestartRequest): Failure {
  const phrase = confirmationPhrase(mode, namespace);
  const given = confirm?.trim() ?? '';
  if (given === '') return { code: 'confirmation_required', detail: `confirm with "${phrase}"` };
  return given === phrase
    ? null
    : { code: 'confirmation_mismatch', detail: `the phrase is "${phrase}", exactly` };
}

/** Any value but empty, 0, false and no. */
export function isAuthorized(value: string | undefined): boolean {
  return value !== undefined && !['', '0', 'false', 'no'].includes(value.trim().toLowerCase());
}

function authorization({ operatorAuthorization }: GateFacts): Failure {
  if (isAuthorized(operatorAuthorization)) return null;
  return {
    code: 'operator_authorization_missing',
    detail: `${operatorAuthorizationEnv} was not set for the supervisor when it started`,
  };
}

/** Markers that hold a namespace back: its own, and those of the gateway that it is in. */
export function liveMarkers(namespace: string, markers: readonly Marker[]): Marker[] {
  const parent = namespace.split('/')[0];
  return markers.filter(
    (marker) => marker.cleared === null && (marker.namespace === namespace || marker.namespace === parent),
  );
}

function contamination({ namespace }: RestartRequest, markers: readonly Marker[]): Failure {
  const [marker] = liveMarkers(namespace, markers);
  if (marker === undefined) return null;
  return {
    code: 'contaminated_runtime',
    detail: `${marker.at}: ${marker.reason}; clear it with: wraptool restart reconcile ${marker.namespace} --note TEXT`,
  };
}

/** The hook that can act on this namespace: a session's own supervisor does not know a bare gateway. */
export function hookFor(namespace: Namespace | undefined, value: string | undefined): Hook | null {
  const hook = parseHook(value);
  return hook?.kind === 'session' && namespace?.kind === 'serve' ? null : hook;
}

function hookGate({ namespace }: RestartRequest, { hook, namespaces }: GateFacts): Failure {
  const known = namespaces.find(({ name }) => name === namespace);
  if (hookFor(known, hook) !== null) return null;
  return {
    code: 'restart_hook_not_configured',
    detail: 'the supervisor has no restart hook for this namespace',
  };
}
