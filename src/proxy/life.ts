/** One life of a server: from its start to its end, with the protocol on its stdio. */
import { childEnvironment } from '../executor/environment.ts';
import { resolveBinary } from '../executor/binary.ts';
import { WraptoolError } from '../errors.ts';
import { createCalls, type Calls } from './calls.ts';
import { workingFolder } from './folder.ts';
import { isObject, methodNotFound, RpcError } from './message.ts';
import { rateLimited, readOutput } from './output.ts';
import { startProcess, stopProcess, type Ended, type ServerProcess } from '../executor/server-process.ts';
import { scrubStrings } from './result.ts';
import { notSupported, Rpc } from './rpc.ts';
import {
  UpstreamFailure,
  type Limits,
  type McpServerConfig,
  type ServerMessage,
  type UpstreamCallOptions,
  type UpstreamDeps,
} from './types.ts';

export type Life = {
  readonly pid: number;
  /** "name version" that it gave. */
  readonly identity: string;
  /** Why it is over; null while it is not. */
  readonly reason: string | null;
  /** Resolves when nothing of it is left. */
  readonly gone: Promise<void>;
  /** Those that go to it; `callTool` is called within. */
  readonly calls: Calls;
  /** The list as it came, over all pages. */
  listTools(): Promise<readonly unknown[]>;
  /** The answer as it came. Rejects with RpcError or UpstreamFailure. */
  callTool(tool: string, args: unknown, options: UpstreamCallOptions, timeoutMs: number): Promise<unknown>;
  setLogLevel(level: string): void;
  /** Ends it, with its calls. */
  stop(): Promise<void>;
};

export type LifeHandlers = {
  listChanged(): void;
  /** It is over, by itself or by `stop`; before its calls are told. Not called for one that did not start. */
  ended(reason: string): void;
  /** Ends it, also while it starts. */
  readonly over: AbortSignal;
};

/** Newest first: the first is asked for. The wire is the same in all of them as far as tools go. */
const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

const maxPages = 100;
const maxTools = 5_000;

/** How long a server may live on after it closed its output. */
const silentMs = 1_000;

/** Rejects with UpstreamFailure; nothing of it is left then. */
export async function startLife(
  server: string,
  config: McpServerConfig,
  deps: UpstreamDeps,
  limits: Limits,
  handlers: LifeHandlers,
): Promise<Life> {
  const folder = await workingFolder(server, config.cwd, deps);
  try {
    const child = await startProcess({
      file: (await resolveBinary(config.command, deps.agentWritable ?? [])).path,
      argv0: config.command,
      args: config.args,
      env: childEnvironment({ home: deps.home, configured: config.env }),
      cwd: folder.path,
    });
    return await greet(new Running(server, child, deps, limits, handlers, folder.remove), handlers.over);
  } catch (error) {
    await folder.remove();
    throw error instanceof WraptoolError
      ? new UpstreamFailure('start', `could not be started: ${error.message}`, error)
      : error;
  }
}

async function greet(running: Running, over: AbortSignal): Promise<Life> {
  try {
    if (over.aborted) throw new UpstreamFailure('start', 'was stopped');
    await running.initialize();
    return running;
  } catch (error) {
    await running.stop();
    throw error instanceof RpcError
      ? new UpstreamFailure('start', `refused to begin: ${running.scrub(error.message)}`, error)
      : error;
  }
}

class Running implements Life {
  readonly pid: number;
  readonly calls = createCalls();
  identity = '';
  readonly #server: string;
  readonly #child: ServerProcess;
  readonly #deps: UpstreamDeps;
  readonly #limits: Limits;
  readonly #handlers: LifeHandlers;
  readonly #rpc: Rpc;
  readonly gone: Promise<void>;
  #reason: string | null = null;
  #greeted = false;
  #logs = false;

  constructor(
    server: string,
    child: ServerProcess,
    deps: UpstreamDeps,
    limits: Limits,
    handlers: LifeHandlers,
    removed: () => Promise<void>,
  ) {
    this.pid = child.pid;
    this.#server = server;
    this.#child = child;
    this.#deps = deps;
    this.#limits = limits;
    this.#handlers = handlers;
    this.#rpc = this.#connect();
    const stop = () => void this.stop();
    handlers.over.addEventListener('abort', stop, { once: true });
    this.gone = child.ended.then((how) => {
      handlers.over.removeEventListener('abort', stop);
      this.#over(describeEnd(how));
      return removed();
    });
  }

  get reason(): string | null {
    return this.#reason;
  }

  scrub(text: string): string {
    return this.#deps.scrub.scrub(text);
  }

  async initialize(): Promise<void> {
    const { client, forwards = [] } = this.#deps;
    const answer = await this.#rpc.request(
      'initialize',
      {
        protocolVersion: revisions[0],
        capabilities: Object.fromEntries(forwards.map((kind) => [kind, {}])),
        clientInfo: client,
      },
      { timeoutMs: this.#limits.startMs },
    );
    const { protocolVersion, capabilities, serverInfo } = isObject(answer) ? answer : {};
    if (typeof protocolVersion !== 'string' || !revisions.includes(protocolVersion)) {
      const said = JSON.stringify(protocolVersion)?.slice(0, 40) ?? 'none';
      throw new UpstreamFailure('protocol', `speaks no known revision of MCP (it said ${said})`);
    }
    this.#logs = isObject(capabilities) && isObject(capabilities['logging']);
    if (isObject(serverInfo))
      this.identity = this.scrub(
        `${String(serverInfo['name'])} ${String(serverInfo['version'])}`.slice(0, 200),
      );
    this.#rpc.notify('notifications/initialized');
    this.#greeted = true;
  }

  async listTools(): Promise<readonly unknown[]> {
    const all: unknown[] = [];
    const seen = new Set<string>();
    for (let cursor: string | null = null; seen.size < maxPages; seen.add(cursor)) {
      const page = await this.#listPage(cursor);
      all.push(...page.tools);
      if (all.length > maxTools) throw new UpstreamFailure('protocol', `has over ${maxTools} tools`);
      if (page.next === null) return all;
      if (seen.has(page.next)) break;
      cursor = page.next;
    }
    throw new UpstreamFailure('protocol', 'gives its list of tools without end');
  }

  async callTool(
    tool: string,
    args: unknown,
    options: UpstreamCallOptions,
    timeoutMs: number,
  ): Promise<unknown> {
    return await this.#rpc.request(
      'tools/call',
      { name: tool, ...(args === undefined ? {} : { arguments: args }) },
      { timeoutMs, signal: options.signal, progress: this.#progress(options) },
    );
  }

  setLogLevel(level: string): void {
    if (!this.#logs) return;
    this.#rpc
      .request('logging/setLevel', { level }, { timeoutMs: this.#limits.startMs })
      .catch((error: unknown) => {
        if (!(error instanceof RpcError || error instanceof UpstreamFailure)) throw error;
        this.#emit(`'logging/setLevel': ${this.scrub(error.message)}`);
      });
  }

  async stop(): Promise<void> {
    this.#over('was stopped');
    await stopProcess(this.#child, this.#limits);
    await this.gone;
  }

  #connect(): Rpc {
    const { onEvent, scrub } = this.#deps;
    const server = this.#server;
    readOutput(this.#child.stderr, scrub, (line) =>
      onEvent({ server, kind: 'output', stream: 'stderr', line }),
    );
    this.#child.stdout.once('end', () => {
      setTimeout(() => this.#fatal('closed its output'), silentMs).unref();
    });
    const noise = rateLimited((line) => onEvent({ server, kind: 'output', stream: 'stdout', line }));
    return new Rpc(this.#child, this.#limits, {
      request: (method, params, signal) => this.#asked(method, params, signal),
      notification: (method, params) => this.#told(method, params),
      noise: (line) => noise(this.scrub(line)),
      fatal: (reason) => this.#fatal(reason),
    });
  }

  async #listPage(cursor: string | null): Promise<{ tools: readonly unknown[]; next: string | null }> {
    const params = cursor === null ? {} : { cursor };
    try {
      const answer = await this.#rpc.request('tools/list', params, { timeoutMs: this.#limits.startMs });
      const { tools, nextCursor = null } = isObject(answer) ? answer : {};
      if (!Array.isArray(tools) || (nextCursor !== null && typeof nextCursor !== 'string'))
        throw new UpstreamFailure('protocol', 'sent a malformed list of tools');
      return { tools, next: nextCursor };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // A server of resources and prompts alone.
      if (error.code === methodNotFound) return { tools: [], next: null };
      throw new UpstreamFailure('protocol', `does not list its tools: ${this.scrub(error.message)}`, error);
    }
  }

  #progress({ progress }: UpstreamCallOptions): UpstreamCallOptions['progress'] {
    if (progress === undefined) return undefined;
    return ({ message, ...amount }) =>
      progress(message === undefined ? amount : { ...amount, message: this.scrub(message) });
  }

  async #asked(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const kind = method === 'sampling/createMessage' ? 'sampling' : 'elicitation';
    const known = method === 'sampling/createMessage' || method === 'elicitation/create';
    if (!known || this.#deps.forwards?.includes(kind) !== true) throw notSupported(method);
    const call = this.calls.only();
    if (call?.options.forward === undefined) throw notSupported(method);
    const clean = scrubStrings(params, (text) => this.scrub(text));
    return await call.options.forward({ method, params: clean }, AbortSignal.any([signal, call.over]));
  }

  #told(method: string, params: unknown): void {
    if (method === 'notifications/tools/list_changed') this.#handlers.listChanged();
    if (method !== 'notifications/message' || !isObject(params) || typeof params['level'] !== 'string')
      return;
    const { level, logger, data } = params;
    const scrub = (text: string) => this.scrub(text);
    const message: ServerMessage = {
      level: level.slice(0, 20),
      ...(typeof logger === 'string' ? { logger: scrub(logger.slice(0, 200)) } : {}),
      data: scrubStrings(data, scrub),
    };
    this.#deps.onEvent({ server: this.#server, kind: 'message', message });
    for (const call of this.calls.all()) call.options.message?.(message);
  }

  #fatal(reason: string): void {
    if (this.#reason !== null) return;
    this.#over(reason);
    this.#child.signal('KILL');
  }

  #over(reason: string): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    if (this.#greeted) this.#handlers.ended(reason);
    this.#rpc.fail(new UpstreamFailure('ended', reason));
  }

  #emit(line: string): void {
    this.#deps.onEvent({ server: this.#server, kind: 'problem', detail: line });
  }
}

function describeEnd({ code, signal }: Ended): string {
  return signal === null ? `ended with exit code ${String(code)}` : `was ended by ${signal}`;
}
