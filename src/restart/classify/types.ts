/** What the classifier says, and the few facts that it is told. */
export type ReasonClass =
  | 'manual_daemon_kill'
  | 'pattern_kill'
  | 'fleet_kill'
  | 'service_kill'
  | 'container_kill'
  | 'fd_kill'
  | 'indirect';

/** What is known of the host; none of it is needed, all of it makes the answer sharper. */
export type Known = {
  /** Process ids of gateways and their supervisors. */
  readonly pids: ReadonlySet<number>;
  /** Names of sessions that live or are recorded. */
  readonly names: readonly string[];
};

/** One thing that the command would do. `reason` is null where evidence says that no gateway is hit. */
export type Finding = { readonly reason: ReasonClass | null };

/**
 * Where a command runs: on this host, inside a container or another process namespace (pids there are others, and so
 * are the processes), or on another host (pids are others, a gateway there is a gateway).
 */
export type Scope = 'host' | 'inside' | 'elsewhere';

/** What is not known of a text but matters: whose pids, or whose names, would stand there. */
export type Origin =
  | { readonly of: 'unknown' }
  /** The own shell, or a child that the command itself started. */
  | { readonly of: 'own' }
  /** Pids, names or lines about processes, containers, units; `reason` as in Finding. */
  | { readonly of: 'targets'; readonly reason: ReasonClass | null; readonly rows?: 'processes' | 'sockets' }
  /** One of these texts, by the way that the command takes. */
  | { readonly of: 'any'; readonly texts: readonly string[] };
