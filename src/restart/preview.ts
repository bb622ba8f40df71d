/** PURE: what a restart would need and do, and the answer that a request gets. No answer means "restarted". */
import { actionOf, mayDo, type Action, type Role } from './actions.ts';
import {
  actionIdOf,
  assess,
  confirmationPhrase,
  hookFor,
  isAuthorized,
  isMode,
  scope,
  type Assessment,
  type GateFacts,
  type RestartRequest,
} from './gate.ts';
import { mutationLedger, type LedgerStep } from './ledger.ts';
import type { ReasonCode } from './types.ts';

export type Preview = {
  readonly action_id: string;
  readonly namespace: string;
  readonly mode: string;
  readonly scope_valid: boolean;
  readonly scope_reason_code: ReasonCode | null;
  readonly required_role: Role | null;
  readonly action_class: Action['action_class'];
  readonly dual_control: boolean;
  readonly break_glass: boolean;
  readonly requires_confirmation: true;
  /** Null where the scope is not valid: there is nothing to confirm. */
  readonly confirmation_phrase: string | null;
  readonly mutation_ledger: readonly LedgerStep[];
  /** Whether the one who asks may do it at all. */
  readonly authorization: {
    readonly authorized: boolean;
    readonly actor: string;
    readonly role: Role | null;
  };
  readonly operator_authorization: { readonly authorized: boolean };
  /** Whether there is one; never which. */
  readonly restart_hook: { readonly configured: boolean };
  readonly execution_enabled: false;
  readonly raw_process_kill_exposed: false;
  readonly known_namespaces: readonly string[];
  readonly post_restart_verification_required: true;
};

export function preview(request: Omit<RestartRequest, 'confirm'>, facts: GateFacts): Preview {
  const { mode, namespace } = request;
  const action = actionOf(actionIdOf(mode));
  const refused = scope(request, facts.namespaces);
  const known = facts.namespaces.find(({ name }) => name === namespace);
  return {
    action_id: action.id,
    namespace,
    mode,
    scope_valid: refused === null,
    scope_reason_code: refused?.code ?? null,
    required_role: action.required_role,
    action_class: action.action_class,
    dual_control: action.dual_control,
    break_glass: action.break_glass,
    requires_confirmation: true,
    confirmation_phrase: refused === null ? confirmationPhrase(mode, namespace) : null,
    mutation_ledger: refused === null && isMode(mode) ? mutationLedger(mode, namespace) : [],
    authorization: { authorized: mayDo(facts.principal.role, action), ...facts.principal },
    operator_authorization: { authorized: isAuthorized(facts.operatorAuthorization) },
    restart_hook: { configured: hookFor(known, facts.hook) !== null },
    execution_enabled: false,
    raw_process_kill_exposed: false,
    known_namespaces: facts.namespaces.map(({ name }) => name),
    post_restart_verification_required: true,
  };
}

export type Answer = Assessment & {
  readonly action_id: string;
  readonly namespace: string;
  readonly mode: string;
  readonly success: false;
  readonly execution_enabled: false;
  readonly process_kill_executed: false;
  /** What has to happen next, and by whom. */
  readonly next_action: string;
  /** Where it was asked for too often: whole seconds after which there is room. */
  readonly retry_after_seconds?: number;
  readonly preview: Preview;
};

/** The gates' answer as it is given to whoever asked. */
export function answer(request: RestartRequest, facts: GateFacts): Answer {
  const assessment = assess(request, facts);
  return {
    ...assessment,
    action_id: actionIdOf(request.mode),
    namespace: request.namespace,
    mode: request.mode,
    success: false,
    execution_enabled: false,
    process_kill_executed: false,
    next_action: nextAction(assessment.reason_code, request),
    preview: preview(request, facts),
  };
}

/** The answer to what passed every gate, but is asked for too often. */
export function rateLimited(passed: Answer, retryAfterMs: number): Answer {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return {
    ...passed,
    allowed: false,
    reason_code: 'restart_rate_limited',
    detail: `"${passed.namespace}" is restarted too often, and as many as may wait do: there is room in ${seconds} s`,
    next_action: `ask again in ${seconds} s`,
    retry_after_seconds: seconds,
  };
}

function nextAction(code: ReasonCode, { mode, namespace }: RestartRequest): string {
  switch (code) {
    case 'unknown_mode':
      return 'ask with --mode restart or --mode reload';
    case 'fleet_scope_not_permitted':
      return 'name one namespace';
    case 'unknown_namespace':
      return 'take one of known_namespaces; wraptool ps lists the sessions';
    case 'unauthorized':
      return 'ask as the operator who runs the supervisor';
    case 'confirmation_required':
    case 'confirmation_mismatch':
      return `repeat it with --confirm "${confirmationPhrase(mode, namespace)}"`;
    case 'operator_authorization_missing':
      return 'the operator starts the session with wraptool up --allow-restart';
    case 'contaminated_runtime':
      return `find out what happened, then: wraptool restart reconcile ${namespace.split('/')[0] ?? namespace} --note TEXT`;
    case 'restart_hook_not_configured':
      return 'the operator sets WRAPTOOL_RESTART_HOOK for the supervisor';
    case 'restart_rate_limited':
      return 'ask again later';
    case 'host_action_required':
      return 'the supervisor acts; the health that follows tells how it went';
  }
}
