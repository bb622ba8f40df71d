/** One HTTP exchange with the gateway, and what its failure proves. */
import type * as http from 'node:http';
import { createRequire } from 'node:module';
import { createEventReader } from './events.ts';
import type { Target } from './options.ts';

// Not imported: an import of node:http loads all of fetch and WebSocket with it, 40 ms of a start.
const { request } = createRequire(import.meta.url)('node:http') as typeof http;

export type Message = {
  readonly jsonrpc?: string;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
};

/** The gateway isn't there. `sent`: it may have seen the message. */
export class Away extends Error {
  readonly sent: boolean;
  constructor(message: string, sent: boolean) {
    super(message);
    this.sent = sent;
  }
}
/** The gateway doesn't know our MCP session: it did nothing with the message. */
export class Lost extends Error {}
/** The gateway answered no; asking again is no use. */
export class Refused extends Error {}

/** The largest message that is taken from the gateway, in characters. */
const messageLimit = 64 * 1024 * 1024;
const absent = new Set(['ECONNREFUSED', 'ENOENT', 'EHOSTUNREACH', 'ENOTDIR']);

export type Exchange = {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  readonly onMessage: (message: Message) => void | Promise<void>;
  /** The gateway took the request, and its answer begins. */
  readonly onOpen?: () => void;
};

/** Resolves with the response's headers when it has ended. Throws Away, Lost or Refused. */
export async function exchange(
  target: Target,
  { method, headers, body, signal, onMessage, onOpen }: Exchange,
): Promise<http.IncomingHttpHeaders> {
  const res = await respond(target, { method, headers, body, signal });
  try {
    await judge(res, headers);
    onOpen?.();
    await readBody(res, onMessage);
    return res.headers;
  } catch (error) {
    if (error instanceof Away || error instanceof Lost || error instanceof Refused) throw error;
    if (signal?.aborted) throw new Refused('cancelled');
    if (error instanceof RangeError || error instanceof SyntaxError) throw new Refused(error.message);
    throw new Away((error as Error).message, true);
  } finally {
    res.destroy();
  }
}

function respond(
  target: Target,
  {
    method,
    headers,
    body,
    signal,
  }: {
    method: string;
    headers: Readonly<Record<string, string>>;
    body: string | undefined;
    signal: AbortSignal | undefined;
  },
): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    // A connection of its own for each message: one that is refused proves that nothing was sent.
    const req = request({
      ...target,
      method,
      agent: false,
      headers: { ...headers, host: 'localhost' },
      ...(signal ? { signal } : {}),
    });
    req.once('response', resolve);
    req.once('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(new Refused('cancelled'));
      else reject(new Away(error.code ?? error.message, !absent.has(error.code ?? '')));
    });
    req.end(body);
  });
}

async function judge(res: http.IncomingMessage, headers: Readonly<Record<string, string>>): Promise<void> {
  const status = res.statusCode ?? 500;
  if (status < 300) return;
  let text = '';
  for await (const chunk of res.setEncoding('utf8') as AsyncIterable<string>)
    if (text.length < 2000) text += chunk;
  if (status === 503) throw new Away('the gateway is busy', false);
  if (status === 404 && headers['mcp-session-id'] !== undefined) throw new Lost('404');
  throw new Refused(`the gateway answered ${status}: ${text.slice(0, 500)}`);
}

async function readBody(res: http.IncomingMessage, onMessage: Exchange['onMessage']): Promise<void> {
  res.setEncoding('utf8');
  if (!(res.headers['content-type'] ?? '').includes('text/event-stream')) {
    let text = '';
    for await (const chunk of res as AsyncIterable<string>) {
      text += chunk;
      if (text.length > messageLimit) throw new RangeError('the gateway sent a message that is too large');
    }
    if (text === '') return;
    for (const message of [JSON.parse(text) as Message | Message[]].flat()) await onMessage(message);
    return;
  }
  const read = createEventReader(messageLimit);
  for await (const chunk of res as AsyncIterable<string>)
    for (const data of read(chunk)) if (data !== '') await onMessage(JSON.parse(data) as Message);
}
