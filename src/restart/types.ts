/** Words of a restart. */

export const modes = ['restart', 'reload'] as const;
export type Mode = (typeof modes)[number];

/**
 * What can be restarted: a session's gateway (`NAME`), an upstream server in it (`NAME/SERVER`), or a gateway that
 * `serve --name NAME` runs.
 */
export type Namespace = {
  readonly name: string;
  readonly kind: 'session' | 'server' | 'serve';
};

/** A gateway was ended by hand; it counts until it is cleared. */
export type Marker = {
  /** 16 hex digits. */
  readonly id: string;
  readonly namespace: string;
  /** ISO time. */
  readonly at: string;
  /** What happened: a class of the classifier, or `killed_by_signal`. */
  readonly reason: string;
  /** For a reader: signal, pid, what was seen. */
  readonly detail: string;
  /** By whom, when and why it was cleared; null while it lives. */
  readonly cleared: { readonly at: string; readonly by: string; readonly note: string } | null;
};

export type ReasonCode =
  | 'unknown_mode'
  | 'fleet_scope_not_permitted'
  | 'unknown_namespace'
  | 'unauthorized'
  | 'confirmation_required'
  | 'confirmation_mismatch'
  | 'operator_authorization_missing'
  | 'contaminated_runtime'
  | 'restart_hook_not_configured'
  /** No gate's: it may be done, but not so often. */
  | 'restart_rate_limited'
  | 'host_action_required';

export type Gate =
  'scope' | 'capability' | 'confirmation' | 'operator_authorization' | 'contamination' | 'hook';
