/** The vocabulary of upstream MCP servers: what is configured, what is offered, what came of a call. */

/** One entry of `mcp_servers`, defaults applied. */
export type McpServerConfig = {
  /** Absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null: an empty private folder. */
  readonly cwd: string | null;
  /** Exact tool names; empty: none. */
  readonly allow: readonly string[];
  /** Exact tool names; wins over `allow`. */
  readonly deny: readonly string[];
  readonly start: 'lazy' | 'eager';
  /** Hide a tool whose definition is not the one that was first allowed. */
  readonly pin: boolean;
  /** Of one call, in ms. */
  readonly timeout: number;
};

/** A tool as a server declares it; unknown members survive. */
export type ToolDefinition = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
};

/** A tool as it is offered: the server's definition under the name `<server>__<tool>`. */
export type UpstreamTool = ToolDefinition;

export type ContentBlock = { readonly type: string; readonly [member: string]: unknown };

/** A tool result of any content kind; unknown members (`_meta`) survive. */
export type UpstreamResult = {
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
};

export type UpstreamOutcome =
  /** The server's own result, or a tool error that says why there is none. */
  | { readonly kind: 'finished'; readonly result: UpstreamResult }
  | {
      readonly kind: 'refused';
      readonly reason: 'upstream_tool_not_allowed' | 'busy';
      readonly detail: string;
    };

export type Progress = { readonly progress: number; readonly total?: number; readonly message?: string };

/** Of MCP's `notifications/message`, scrubbed. */
export type ServerMessage = {
  readonly level: string;
  readonly logger?: string;
  readonly data: unknown;
};

/** What a server may ask of the client that calls it. */
export type Forwardable = 'sampling' | 'elicitation';

export type UpstreamCallOptions = {
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  /** Messages that the server logs while the call runs. */
  readonly message?: (message: ServerMessage) => void;
  /**
   * Passes a request of the server (`sampling/createMessage`, `elicitation/create`) to the client that made this call,
   * and gives back its result. Used only while no other call runs on that server, since a request does not say which
   * call it belongs to.
   */
  readonly forward?: (
    request: { readonly method: string; readonly params: unknown },
    signal: AbortSignal,
  ) => Promise<unknown>;
};

export type HiddenTool = {
  readonly tool: string;
  /** changed: not the pinned definition. invalid: breaks MCP's rules. unpinned: the pin could not be stored. */
  readonly reason: 'changed' | 'invalid' | 'unpinned';
  readonly detail: string;
};

export type ServerStatus = {
  readonly server: string;
  /** idle: not started yet. failed: did not start, or ended by itself. */
  readonly state: 'idle' | 'starting' | 'ready' | 'failed' | 'stopped';
  readonly pid: number | null;
  /** "name version" that the server gave, shortened. */
  readonly identity: string | null;
  /** Starts beyond the first. */
  readonly restarts: number;
  readonly callsInFlight: number;
  readonly lastError: string | null;
  /** Tools that are offered now. */
  readonly tools: readonly string[];
  readonly hidden: readonly HiddenTool[];
  /** Allowed names that a running server does not have. */
  readonly missing: readonly string[];
};

export type UpstreamEvent = { readonly server: string } & (
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'tool_hidden'; readonly tool: string; readonly detail: string }
  /** A line of its stderr, or one on its stdout that is no message of the protocol. */
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr'; readonly line: string }
  | { readonly kind: 'message'; readonly message: ServerMessage }
  | { readonly kind: 'problem'; readonly detail: string }
);

export type Scrub = {
  scrub(text: string): string;
  stream(): { push(chunk: string): string; end(): string };
};

export type Limits = {
  /** Bytes of one message of a server; a longer one is skipped and fails the calls in flight. */
  readonly messageBytes: number;
  /** Bytes skipped of one message before the server is ended. */
  readonly skippedBytes: number;
  readonly callsInFlight: number;
  /** Until `initialize` and the first list are answered, in ms. */
  readonly startMs: number;
  /** Between closing stdin and TERM, in ms. */
  readonly closeMs: number;
  /** Between TERM and KILL, in ms. */
  readonly termMs: number;
  /** Messages that answer nothing, per 100 ms; then the server's output waits. */
  readonly unsolicited: number;
  /** Wait before a start after that many failures in a row, in ms. */
  readonly backoffMs: (failures: number) => number;
};

export type UpstreamDeps = {
  readonly scrub: Scrub;
  /** Everything in it is scrubbed. */
  readonly onEvent: (event: UpstreamEvent) => void;
  /** The operator's HOME, for a server whose `env` has none. */
  readonly home: string;
  /** Real paths of folders in which no server's program may lie. */
  readonly agentWritable?: readonly string[];
  /** Pins and last known lists, a folder for each server. */
  readonly stateDir: string;
  /** Where the empty private folders are made and removed. */
  readonly runDir: string;
  /** Name and version that servers are told. */
  readonly client: { readonly name: string; readonly version: string };
  /** Kinds of request that `forward` of a call can take; all others are answered with -32601. */
  readonly forwards?: readonly Forwardable[];
  readonly limits?: Partial<Limits>;
};

export interface Upstreams {
  /**
   * What is offered now, sorted by name. Starts lazy servers in the background unless `start` is false; until one is
   * up, what is last known of it is shown.
   */
  list(options?: { readonly start?: boolean }): readonly UpstreamTool[];
  /** Never rejects: whatever goes wrong with the server is a tool error that names it. */
  call(name: string, args: unknown, options: UpstreamCallOptions): Promise<UpstreamOutcome>;
  /** Calls back after what `list` gives has changed; returns the release. */
  onChanged(listener: () => void): () => void;
  status(): readonly ServerStatus[];
  /**
   * Takes over another `mcp_servers`. Filters apply at once; a server whose command, arguments, environment or cwd
   * are the same keeps its process; calls in flight on one that went away finish first.
   * @throws WraptoolError config_invalid for a server's name that breaks the rules; nothing has changed then.
   */
  reconfigure(next: Readonly<Record<string, McpServerConfig>>): void;
  /** Ends a server after its calls in flight, and starts it again. Rejects if it does not come up. */
  restart(server: string): Promise<void>;
  /** MCP's `logging/setLevel`, for every server that logs. */
  setLogLevel(level: string): void;
  /**
   * Accepts the definition that a server offers now for a hidden tool.
   * @throws WraptoolError usage if nothing is offered, or not under that digest.
   */
  acceptPin(server: string, tool: string, sha256?: string): Promise<void>;
  /** Ends every server with its process group. Idempotent. */
  close(): Promise<void>;
}

/** Why there is no answer. The message begins behind the server's name: "ended with exit code 1 …". */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: 'ended' | 'timeout' | 'cancelled' | 'protocol' | 'overlong' | 'busy' | 'start';

  constructor(kind: UpstreamFailure['kind'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}
