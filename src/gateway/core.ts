/** The seam between MCP wires and the gateway: no SDK type passes it. */

export type ToolDescription = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations?: { readonly readOnlyHint?: boolean };
};

export type ToolResult = {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
};

/** Facts of one request that the wire knows. */
export type Caller = {
  /** Raw query string of the request's URL, without "?". */
  readonly query: string;
  /** Pid of the peer on a Unix socket, where it can be known. */
  readonly peerPid: number | null;
  /** "name/version" that the client gave, for the log; hostile text. */
  readonly client: string;
  readonly mcpSession: string | null;
  /** Given by a client that repeats a call whose answer it lost: the same key each time, `attempt` counts from 1. */
  readonly repeat?: { readonly key: string; readonly attempt: number };
};

export type CallOptions = {
  readonly signal: AbortSignal;
  readonly progress?: (message: string) => void;
};

export interface Core {
  listTools(): readonly ToolDescription[];
  callTool(caller: Caller, name: string, args: unknown, options: CallOptions): Promise<ToolResult>;
  /** Calls back after the set of tools changed; returns the release. */
  onToolsChanged(listener: () => void): () => void;
}
