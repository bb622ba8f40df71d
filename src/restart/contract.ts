/** PURE: the contract of restarts, as `wraptool restart policy --json` prints it. */
import { actions, type Action } from './actions.ts';
import { operatorAuthorizationEnv } from './gate.ts';
import { restartHookEnv } from './hook.ts';
import { modes, type Namespace } from './types.ts';

export type Contract = {
  readonly policy_version: 1;
  readonly modes: readonly string[];
  readonly actions: readonly Action[];
  readonly known_namespaces: readonly string[];
  readonly operator_authorization_env: string;
  readonly restart_hook_env: string;
  readonly manual_kill_classified_as: 'contamination';
  readonly post_restart_clean_claim_requires: 'client_namespace';
  readonly fleet_scope_permitted: false;
  readonly console_executes_process_kill: false;
  readonly raw_kill_exposed: false;
  readonly silent_auto_restart_permitted: false;
  readonly requires_confirmation: true;
  readonly confirmation_binds_namespace: true;
  readonly audit_required: true;
};

export function contract(namespaces: readonly Namespace[]): Contract {
  return {
    policy_version: 1,
    modes,
    actions,
    known_namespaces: namespaces.map(({ name }) => name),
    operator_authorization_env: operatorAuthorizationEnv,
    restart_hook_env: restartHookEnv,
    manual_kill_classified_as: 'contamination',
    post_restart_clean_claim_requires: 'client_namespace',
    fleet_scope_permitted: false,
    console_executes_process_kill: false,
    raw_kill_exposed: false,
    silent_auto_restart_permitted: false,
    requires_confirmation: true,
    confirmation_binds_namespace: true,
    audit_required: true,
  };
}
