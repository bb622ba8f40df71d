/** What the host says that there should be. */
export type Expected = {
  readonly workspace: string;
  /** HOME of the operator, which must not be in here. */
  readonly hostHome: string;
  readonly network: 'private' | 'host' | 'none';
  /** IANA name of the operator's time zone. */
  readonly zone: string;
  /** The host's clock when it asked, ms since 1970. */
  readonly now: number;
  /** The operator's terminal; null where the harness gets none. `own`: it is this program's, too. */
  readonly terminal: { readonly rows: number; readonly columns: number; readonly own: boolean } | null;
  /** Variables that the operator named to be in here. */
  readonly named: readonly string[];
  /** Null: told on stdin, when the gateway is there. */
  readonly probe: Probe | null;
};

/** What proves a gateway: a tool that answers, and the config that it says to serve. */
export type Probe = {
  /** Registered name; it is called without arguments. */
  readonly tool: string;
  /** sha256 (hex). */
  readonly config: string;
};

export type Finding = {
  readonly check: string;
  /** fault: the harness must not start. note: not decided in the time that there is. */
  readonly level: 'fault' | 'warning' | 'note';
  readonly detail: string;
  /** What to do about it. */
  readonly mend: string;
};

export type Env = Readonly<Record<string, string | undefined>>;

/** As whom the checks inside speak to the gateway. */
export const preflightClient = { name: 'wraptool-preflight', version: '1' } as const;
