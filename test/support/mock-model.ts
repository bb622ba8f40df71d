/**
 * A model that follows a script, so that a real client can be driven end to end without a key and without a network.
 * It speaks Anthropic's wire; further wires are further entries of `wires`.
 *
 *   node test/support/mock-model.ts --listen 127.0.0.1:0 --script FILE [--record FILE]
 *
 * The first line on stdout is `ready URL`. A script is a JSON list of steps, one per turn of the assistant; which
 * one is due is read from the conversation itself, so that a repeated request gets the same answer.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';

/** `tool` is a regular expression for the tool's name as the client offers it. */
export type Step =
  { readonly tool: string; readonly input: Readonly<Record<string, unknown>> } | { readonly text: string };

export type ToolOutcome = {
  readonly id: string;
  readonly tool: string;
  readonly text: string;
  readonly isError: boolean;
};

export type Recorded = {
  readonly method: string;
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  /** Names of the tools that the client offered. */
  readonly tools: readonly string[];
  /** Every tool result in the conversation so far, in order. */
  readonly results: readonly ToolOutcome[];
  /** What was answered: a step, or why none was due. */
  readonly reply: Step | { readonly aside: string };
};

export type MockModel = {
  readonly url: string;
  readonly requests: readonly Recorded[];
  /** Resolves with the first recorded request, past or future, that satisfies the predicate. */
  until(predicate: (request: Recorded) => boolean): Promise<Recorded>;
  close(): Promise<void>;
};

type Body = { readonly [key: string]: unknown };
type Reply = Recorded['reply'];
/** What a wire reads from a request. `turn` counts the assistant's turns so far. */
type Conversation = Pick<Recorded, 'model' | 'stream' | 'tools' | 'results'> & { readonly turn: number };
type Answer = { readonly status: number; readonly body: unknown } | { readonly events: readonly Body[] };
type Wire = {
  readonly name: string;
  /** Whether the path is a turn of a conversation on this wire. */
  turn(path: string): boolean;
  /** Answers to everything else (lists of models, token counts); null: not of this wire. */
  other(path: string): Answer | null;
  read(body: Body): Conversation;
  write(reply: Reply, conversation: Conversation): Answer;
};

const toolSearch = 'ToolSearch';

/** What the script says is due. A client that defers its tools is first made to load the one that is wanted. */
function decide(steps: readonly Step[], conversation: Conversation): Reply {
  if (conversation.tools.length === 0) return { aside: 'a request without tools is none of the script’s' };
  const step = steps[conversation.turn];
  if (step === undefined) return { aside: 'the script is at its end' };
  if (!('tool' in step)) return step;
  const wanted = new RegExp(step.tool);
  const name = conversation.tools.find((tool) => wanted.test(tool));
  if (name !== undefined) return { tool: name, input: step.input };
  const searched = conversation.results.at(-1)?.tool === toolSearch;
  if (conversation.tools.includes(toolSearch) && !searched)
    return {
      tool: toolSearch,
      input: { query: step.tool.replaceAll(/[^A-Za-z0-9_]+/g, ' ').trim(), max_results: 10 },
    };
  return { aside: `no tool matches /${step.tool}/` };
}

function spoken(reply: Reply): string {
  if ('text' in reply) return reply.text;
  return 'aside' in reply ? `(mock model: ${reply.aside})` : '';
}

const anthropic: Wire = {
  name: 'anthropic',
  turn: (path) => path === '/v1/messages',
  other: (path) => {
    if (path === '/v1/messages/count_tokens') return { status: 200, body: { input_tokens: 10 } };
    if (path === '/v1/models')
      return {
        status: 200,
        body: { data: [{ type: 'model', id: 'mock', display_name: 'Mock' }], has_more: false },
      };
    return null;
  },
  read: (body) => {
    const messages = list(body['messages']).map(object);
    const blocks = messages.flatMap((message) => list(message['content']).map(object));
    const names = new Map(
      blocks.filter(isType('tool_use')).map((block) => [text(block['id']), text(block['name'])]),
    );
    const assistant = messages.filter((message) => message['role'] === 'assistant');
    return {
      model: text(body['model']),
      stream: body['stream'] === true,
      tools: list(body['tools']).map((tool) => text(object(tool)['name'])),
      results: blocks.filter(isType('tool_result')).map((block) => ({
        id: text(block['tool_use_id']),
        tool: names.get(text(block['tool_use_id'])) ?? '',
        text: plain(block['content']),
        isError: block['is_error'] === true,
      })),
      turn: assistant.filter((message) => !loadsTools(message)).length,
    };
  },
  write: (reply, { model, stream, turn, results }) => {
    // A client joins messages of one id, so each turn needs its own.
    const unique = `${turn}_${results.length}`;
    const block =
      'tool' in reply
        ? {
            type: 'tool_use',
            id: `toolu_mock_${unique}`,
            name: reply.tool,
            input: reply.input,
          }
        : { type: 'text', text: spoken(reply) };
    const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: 10, output_tokens: 10 };
    const message = {
      id: `msg_mock_${unique}`,
      type: 'message',
      role: 'assistant',
      model,
      stop_sequence: null,
      usage,
    };
    if (!stream) return { status: 200, body: { ...message, content: [block], stop_reason: stop } };
    const delta =
      'input' in block
        ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
        : { type: 'text_delta', text: block.text };
    const empty = 'input' in block ? { ...block, input: {} } : { ...block, text: '' };
    return {
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: empty },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: stop, stop_sequence: null },
          usage: { output_tokens: 10 },
        },
        { type: 'message_stop' },
      ],
    };
  },
};

const wires: readonly Wire[] = [anthropic];

/** A turn that only loads tools is none of the script's. */
function loadsTools(message: Body): boolean {
  const blocks = list(message['content']).map(object);
  return blocks.length > 0 && blocks.every((block) => block['name'] === toolSearch);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function object(value: unknown): Body {
  return typeof value === 'object' && value !== null ? (value as Body) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isType(type: string): (block: Body) => boolean {
  return (block) => block['type'] === type;
}

/** Content as text: a string, or the text blocks of a list. */
function plain(content: unknown): string {
  if (typeof content === 'string') return content;
  return list(content)
    .map((block) => text(object(block)['text']))
    .join('\n');
}

/** Starts the model. `listen` is HOST:PORT, port 0 for any. */
export async function startMockModel(options: {
  readonly listen?: string;
  readonly script: readonly Step[];
  /** Called with each request once its answer is known, before it is sent. */
  readonly record?: (request: Recorded) => void;
}): Promise<MockModel> {
  const requests: Recorded[] = [];
  const waiting = new Set<(request: Recorded) => void>();
  const keep = (request: Recorded): void => {
    requests.push(request);
    options.record?.(request);
    for (const tell of waiting) tell(request);
  };
  const server = http.createServer((request, response) => {
    answer(options.script, request, keep).then(
      (made) => send(response, made),
      (error: unknown) =>
        send(response, {
          status: 400,
          body: { type: 'error', error: { type: 'invalid_request_error', message: String(error) } },
        }),
    );
  });
  const [host = '127.0.0.1', port = '0'] = splitAddress(options.listen ?? '127.0.0.1:0');
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(Number(port), host, resolve),
  );
  const address = server.address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    requests,
    until: (predicate) => {
      const found = requests.find(predicate);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve) => {
        const tell = (request: Recorded): void => {
          if (!predicate(request)) return;
          waiting.delete(tell);
          resolve(request);
        };
        waiting.add(tell);
      });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function splitAddress(address: string): string[] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), address.slice(at + 1)];
}

async function answer(
  script: readonly Step[],
  request: http.IncomingMessage,
  keep: (request: Recorded) => void,
): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { pathname } = new URL(request.url ?? '/', 'http://mock');
  const wire = wires.find((candidate) => candidate.turn(pathname));
  if (wire === undefined || request.method !== 'POST') {
    const other = wires.map((candidate) => candidate.other(pathname)).find((found) => found !== null);
    return other ?? { status: request.method === 'HEAD' ? 200 : 404, body: {} };
  }
  const conversation = wire.read(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body);
  const reply = decide(script, conversation);
  const { model, stream, tools, results } = conversation;
  keep({ method: request.method, path: pathname, model, stream, tools, results, reply });
  return wire.write(reply, conversation);
}

function send(response: http.ServerResponse, made: Answer): void {
  if ('events' in made) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const event of made.events)
      response.write(`event: ${text(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
    return;
  }
  response.writeHead(made.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(made.body));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { listen: { type: 'string' }, script: { type: 'string' }, record: { type: 'string' } },
  });
  if (values.script === undefined) throw new Error('--script FILE is needed');
  const model = await startMockModel({
    ...(values.listen === undefined ? {} : { listen: values.listen }),
    script: JSON.parse(readFileSync(values.script, 'utf8')) as Step[],
    record: (request) => {
      if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(request)}\n`);
    },
  });
  process.stdout.write(`ready ${model.url}\n`);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void model.close());
}

if (import.meta.main) await main();
