/** What a scripted model says and sees, and what each of its wires must do. */

/** `tool` is a regular expression for the tool's name as the client offers it. */
export type Step = (
  { readonly tool: string; readonly input: Readonly<Record<string, unknown>> } | { readonly text: string }
) & {
  /** A file: the answer waits until it is there, so that a test can change something in the middle of a run. */
  readonly when?: string;
};

export type ToolOutcome = {
  readonly id: string;
  readonly tool: string;
  /** What the model gets to see, as the wire carries it. */
  readonly text: string;
  /** Always false on the wires of OpenAI, which do not tell. */
  readonly isError: boolean;
};

export type Recorded = {
  readonly method: string;
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  /** Names of the tools that the client offered; `SPACE.NAME` for a tool in a name space. */
  readonly tools: readonly string[];
  /** Every tool result in the conversation so far, in order. */
  readonly results: readonly ToolOutcome[];
  /** What is answered: a step, or why none was due. */
  readonly reply: Step | { readonly aside: string };
};

export type Body = { readonly [key: string]: unknown };
export type Reply = Recorded['reply'];

/** What a wire reads from a request. `turn` counts the assistant's turns so far. */
export type Conversation = Pick<Recorded, 'model' | 'stream' | 'tools' | 'results'> & {
  readonly turn: number;
};

export type Answer =
  | { readonly status: number; readonly body: unknown }
  /** Server-sent events; `named` puts the event's `type` on a line of its own, `last` is what ends the stream. */
  | { readonly events: readonly Body[]; readonly named: boolean; readonly last?: string };

export type Wire = {
  /** Whether the path is a turn of a conversation on this wire. */
  turn(path: string): boolean;
  /** Answers to everything else (lists of models, token counts); null: not of this wire. */
  other(path: string): Answer | null;
  read(body: Body, path: string): Conversation;
  write(reply: Reply, conversation: Conversation, body: Body): Answer;
};
