/** The seam between MCP wires and the gateway: no SDK type passes it. */

/** A tool as it is listed; members that are unknown here (of an upstream server's) survive. */
export type ToolDescription = {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
};

export type ContentBlock = { readonly type: string; readonly [member: string]: unknown };

/** Content of any kind; members that are unknown here survive. */
export type ToolResult = {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
};

/** Facts of one request that the wire knows. */
export type Caller = {
  /** Raw query string of the request's URL, without "?". */
  readonly query: string;
  /** Working directory of the peer's process on a Unix socket, as it is now; null where it can't be known. */
  readonly peerCwd: () => Promise<string | null>;
  /** "name/version" that the client gave, for the log; hostile text. */
  readonly client: string;
  readonly mcpSession: string | null;
  /** Given by a client that repeats a call whose answer it lost: the same key each time, `attempt` counts from 1. */
  readonly repeat?: { readonly key: string; readonly attempt: number };
};

/** A line of a command's output (`message` alone), or what an upstream server says of its progress. */
export type Progress = { readonly message?: string; readonly progress?: number; readonly total?: number };

/** MCP's `notifications/message`: a log line of an upstream server. */
export type LogMessage = { readonly level: string; readonly logger?: string; readonly data: unknown };

export type CallOptions = {
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  readonly message?: (message: LogMessage) => void;
};

export interface Core {
  /** Whether `message` of a call may ever be used. */
  forwardsLogs(): boolean;
  /** sha256 (hex) of the config that is served. */
  configHash(): string;
  /** Resolves when the tools are described as they will be, soon in any case: to be awaited before they are listed. */
  ready(): Promise<void>;
  /** `caller`: the client that asked for the list; without it, for the gateway's own use. */
  listTools(caller?: Caller): readonly ToolDescription[];
  callTool(caller: Caller, name: string, args: unknown, options: CallOptions): Promise<ToolResult>;
  /** Calls back after the set of tools changed; returns the release. */
  onToolsChanged(listener: () => void): () => void;
}
