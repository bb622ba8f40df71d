/** One end of JSON-RPC over a server's stdio: strict, bounded, and never waiting for the server. */
import type { Readable, Writable } from 'node:stream';
import { createLineSplitter } from './lines.ts';
import { internalError, isObject, methodNotFound, parseLine, RpcError, type Message } from './message.ts';
import { Throttle } from './throttle.ts';
import { UpstreamFailure, type Limits, type Progress } from './types.ts';

export type RpcHandlers = {
  /** Answers a request of the server; an RpcError is sent as it is. */
  request(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  notification(method: string, params: unknown): void;
  /** A line that is no message, shortened, not scrubbed. */
  noise(line: string): void;
  /** The server breaks the protocol in a way that can't be gone on with. */
  fatal(reason: string): void;
};

export type RequestOptions = {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly progress?: ((progress: Progress) => void) | undefined;
};

type Settled = { readonly result: unknown } | { readonly error: Error };
type Pending = { readonly progress: RequestOptions['progress']; readonly settle: (outcome: Settled) => void };

/** Requests of the server that may wait for an answer at once. */
const maxIncoming = 32;
const noiseLength = 500;

/** Some readers of lines end one at these too; in JSON they stand in strings alone. */
const lineEnds = /[\u0085\u2028\u2029]/g;

export class Rpc {
  readonly #stdin: Writable;
  readonly #limits: Limits;
  readonly #handlers: RpcHandlers;
  readonly #throttle: Throttle;
  readonly #pending = new Map<unknown, Pending>();
  readonly #incoming = new Map<unknown, AbortController>();
  #lastId = 0;
  #failed: UpstreamFailure | null = null;

  constructor(streams: { stdin: Writable; stdout: Readable }, limits: Limits, handlers: RpcHandlers) {
    this.#stdin = streams.stdin;
    this.#limits = limits;
    this.#handlers = handlers;
    this.#throttle = new Throttle(streams.stdout, limits.unsolicited);
    const splitter = createLineSplitter(limits.messageBytes, limits.skippedBytes, {
      line: (bytes) => this.#line(bytes),
      overlong: () =>
        this.#settleAll(
          new UpstreamFailure('overlong', `sent a message of over ${limits.messageBytes} bytes`),
        ),
      endless: () => handlers.fatal(`sent a message of over ${limits.skippedBytes} bytes`),
    });
    streams.stdout.on('data', (chunk: Buffer) => splitter.push(chunk));
    streams.stdout.on('end', () => splitter.end());
    for (const stream of [streams.stdin, streams.stdout]) stream.on('error', onlyBroken);
  }

  /** Rejects with RpcError (the server's answer) or UpstreamFailure. */
  async request(method: string, params: object, options: RequestOptions): Promise<unknown> {
    if (this.#failed !== null) throw this.#failed;
    if (options.signal?.aborted === true) throw cancelled();
    if (this.#stdin.writableLength > this.#limits.messageBytes)
      throw new UpstreamFailure('busy', 'does not read its input');
    const id = (this.#lastId += 1);
    const answer = this.#expect(id, method, options);
    const meta = options.progress === undefined ? {} : { _meta: { progressToken: id } };
    this.#send({ id, method, params: { ...params, ...meta } });
    return answer;
  }

  notify(method: string, params?: object): void {
    this.#send(params === undefined ? { method } : { method, params });
  }

  /** Ends every request in flight, and every later one, for that reason. */
  fail(failure: UpstreamFailure): void {
    if (this.#failed !== null) return;
    this.#failed = failure;
    this.#throttle.stop();
    this.#settleAll(failure);
    for (const controller of this.#incoming.values()) controller.abort();
  }

  #expect(id: number, method: string, { timeoutMs, signal, progress }: RequestOptions): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle = (outcome: Settled) => {
      if (!this.#pending.delete(id)) return;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.result);
    };
    const giveUp = (failure: UpstreamFailure) => {
      // MCP forbids to cancel `initialize`.
      if (method !== 'initialize')
        this.notify('notifications/cancelled', { requestId: id, reason: failure.message });
      settle({ error: failure });
    };
    const onAbort = () => giveUp(cancelled());
    const onTime = () =>
      giveUp(new UpstreamFailure('timeout', `did not answer within ${timeoutMs / 1000} s`));
    const timer = setTimeout(onTime, timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#pending.set(id, { progress, settle });
    return promise;
  }

  #send(message: object): void {
    if (this.#failed !== null || !this.#stdin.writable) return;
    const line = JSON.stringify({ jsonrpc: '2.0', ...message }).replace(lineEnds, escaped);
    this.#stdin.write(`${line}\n`);
  }

  #settleAll(error: UpstreamFailure): void {
    for (const { settle } of this.#pending.values()) settle({ error });
  }

  #line(bytes: Buffer): void {
    if (this.#failed !== null) return;
    const messages = parseLine(bytes);
    if (messages !== null) {
      for (const message of messages) this.#receive(message);
      return;
    }
    this.#throttle.count();
    const text = bytes.subarray(0, noiseLength).toString('utf8').trim();
    if (text !== '') this.#handlers.noise(text);
  }

  #receive(message: Message): void {
    if (message.kind === 'result' || message.kind === 'error') {
      const to = this.#pending.get(message.id);
      // An answer to a request that was cancelled or timed out is late, not wrong.
      if (to === undefined) this.#throttle.count();
      else to.settle(message.kind === 'result' ? { result: message.result } : { error: message.error });
      return;
    }
    this.#throttle.count();
    if (message.kind === 'request') void this.#answer(message.id, message.method, message.params);
    else this.#notified(message.method, message.params);
  }

  #notified(method: string, params: unknown): void {
    if (method === 'notifications/progress' && isObject(params))
      this.#pending.get(params['progressToken'])?.progress?.(progressOf(params));
    else if (method === 'notifications/cancelled' && isObject(params))
      this.#incoming.get(params['requestId'])?.abort();
    else this.#handlers.notification(method, params);
  }

  async #answer(id: string | number, method: string, params: unknown): Promise<void> {
    if (this.#stdin.writableLength > this.#limits.messageBytes)
      return this.#handlers.fatal('asks and does not read its input');
    if (method === 'ping') return this.#send({ id, result: {} });
    if (this.#incoming.size >= maxIncoming || this.#incoming.has(id))
      return this.#send({ id, error: { code: internalError, message: 'too many requests at once' } });
    const controller = new AbortController();
    this.#incoming.set(id, controller);
    try {
      const result = await this.#handlers.request(method, params, controller.signal);
      if (!controller.signal.aborted) this.#send({ id, result });
    } catch (error) {
      if (!controller.signal.aborted) this.#send({ id, error: errorOf(error) });
    } finally {
      this.#incoming.delete(id);
    }
  }
}

/** What a client answers to a request that it does not take. */
export function notSupported(method: string): RpcError {
  return new RpcError(methodNotFound, `'${method.slice(0, 100)}' is not supported by this client`);
}

function cancelled(): UpstreamFailure {
  return new UpstreamFailure('cancelled', 'was told to stop: the call was cancelled');
}

function errorOf(error: unknown): { code: number; message: string; data?: unknown } {
  if (!(error instanceof RpcError)) return { code: internalError, message: 'the client could not answer' };
  const { code, message, data } = error;
  return data === undefined ? { code, message } : { code, message, data };
}

function progressOf(params: Readonly<Record<string, unknown>>): Progress {
  const { progress, total, message } = params;
  return {
    progress: typeof progress === 'number' ? progress : 0,
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The end of the process tells; a broken pipe tells nothing more. */
function onlyBroken(error: NodeJS.ErrnoException): void {
  if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(error.code ?? '')) throw error;
}
