/** One configured server: started when it is needed, started again after a crash, never in the way of another. */
import { createCalls } from './calls.ts';
import { startLife, type Life } from './life.ts';
import { isObject, RpcError } from './message.ts';
import { Offer } from './offer.ts';
import { readResult, toolError } from './result.ts';
import {
  UpstreamFailure,
  type Limits,
  type McpServerConfig,
  type ServerStatus,
  type UpstreamCallOptions,
  type UpstreamDeps,
  type UpstreamEvent,
  type UpstreamOutcome,
} from './types.ts';

/** After so long a life a crash counts as the first one again. */
const stableMs = 30_000;

/** Between two fetches of a list that keeps changing. */
const relistMs = 100;

type EventBody = UpstreamEvent extends infer E
  ? E extends UpstreamEvent
    ? Omit<E, 'server'>
    : never
  : never;

export class Upstream {
  readonly name: string;
  readonly offer: Offer;
  readonly #deps: UpstreamDeps;
  readonly #limits: Limits;
  #config: McpServerConfig;
  #state: ServerStatus['state'] = 'idle';
  #life: Life | null = null;
  /** Those of which something may be left. */
  readonly #lives = new Set<Life>();
  #starting: Promise<Life> | null = null;
  #listing: Promise<void> | null = null;
  #listAgain = false;
  readonly #calls = createCalls();
  #starts = 0;
  #failures = 0;
  #retryAt = 0;
  #lastError: string | null = null;
  #logLevel: string | null = null;
  readonly #over = new AbortController();

  constructor(
    name: string,
    config: McpServerConfig,
    deps: UpstreamDeps,
    limits: Limits,
    changed: () => void,
  ) {
    this.name = name;
    this.#config = config;
    this.#deps = deps;
    this.#limits = limits;
    this.offer = new Offer(name, config, {
      stateDir: deps.stateDir,
      scrub: (text) => deps.scrub.scrub(text),
      changed,
      hid: ({ tool, detail }) => this.#emit({ kind: 'tool_hidden', tool, detail }),
      problem: (detail) => this.#emit({ kind: 'problem', detail }),
    });
  }

  get config(): McpServerConfig {
    return this.#config;
  }

  /** Starts it in the background where that can bring a list: how it went shows in `status`. */
  warm(): void {
    const worthIt = this.#state === 'idle' || (this.#state === 'failed' && !this.offer.listed);
    if (worthIt && performance.now() >= this.#retryAt) this.#ready().catch(onlyFailure);
    else if (this.offer.hidden.some(({ reason }) => reason === 'changed')) void this.offer.judge();
  }

  async call(tool: string, args: unknown, options: UpstreamCallOptions): Promise<UpstreamOutcome> {
    if (!this.offer.isAllowed(tool))
      return refused(`tool '${tool}' of upstream server '${this.name}' is not in its allowlist`);
    if (this.#calls.size >= this.#limits.callsInFlight)
      return {
        kind: 'refused',
        reason: 'busy',
        detail: `upstream server '${this.name}' has too many calls at once`,
      };
    try {
      return await this.#calls.run(options, () => this.#call(tool, args, options));
    } catch (error) {
      return { kind: 'finished', result: toolError(this.#explain(error)) };
    }
  }

  /** Another filter, pin or timeout for the same process. */
  update(config: McpServerConfig): void {
    this.#config = config;
    this.offer.setFilter(config);
    void this.offer.judge();
  }

  setLogLevel(level: string): void {
    this.#logLevel = level;
    this.#life?.setLogLevel(level);
  }

  status(): ServerStatus {
    return {
      server: this.name,
      state: this.#state,
      pid: this.#life?.pid ?? null,
      identity: this.#life?.identity ?? null,
      restarts: Math.max(0, this.#starts - 1),
      callsInFlight: this.#calls.size,
      lastError: this.#lastError,
      tools: this.offer.tools().map(({ name }) => name),
      hidden: this.offer.hidden,
      missing: this.offer.missing,
    };
  }

  /** Calls that come meanwhile wait for the new start. */
  async restart(): Promise<void> {
    while (this.#starting !== null) await this.#starting.catch(onlyFailure);
    const old = this.#life;
    this.#life = null;
    this.#failures = 0;
    this.#retryAt = 0;
    await this.#launch(async () => {
      await old?.calls.drained();
      await old?.stop();
    });
  }

  /** No call comes any more; ends after the ones in flight. */
  async retire(): Promise<void> {
    await this.#calls.drained();
    await this.close();
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#starting?.catch(onlyFailure);
    await Promise.all([...this.#lives].map((life) => life.stop()));
    this.#state = 'stopped';
  }

  async #call(tool: string, args: unknown, options: UpstreamCallOptions): Promise<UpstreamOutcome> {
    if (args !== undefined && !isObject(args))
      throw new UpstreamFailure('protocol', 'takes an object as arguments');
    for (;;) {
      const life = await this.#until(this.#ready(), options.signal);
      // A restart may have taken it out before this call went on.
      if (life === this.#life)
        return await life.calls.run(options, () => this.#callOn(life, tool, args, options));
    }
  }

  async #callOn(
    life: Life,
    tool: string,
    args: unknown,
    options: UpstreamCallOptions,
  ): Promise<UpstreamOutcome> {
    const { timeout } = this.#config;
    // A list that is said to have changed may change what this tool is.
    if (this.#listing !== null) await this.#until(this.#listing, options.signal, timeout);
    const refusal = await this.offer.refusal(tool);
    if (refusal !== null) return refused(refusal);
    const answer = await life.callTool(tool, args, options, timeout);
    return { kind: 'finished', result: readResult(answer, (text) => this.#deps.scrub.scrub(text)) };
  }

  #ready(): Promise<Life> {
    if (this.#life !== null) return Promise.resolve(this.#life);
    return this.#starting ?? this.#launch(async () => undefined);
  }

  #launch(before: () => Promise<void>): Promise<Life> {
    const starting = before()
      .then(() => this.#start())
      .finally(() => {
        this.#starting = null;
      });
    this.#starting = starting;
    return starting;
  }

  async #start(): Promise<Life> {
    if (this.#over.signal.aborted) throw new UpstreamFailure('start', 'is not configured any more');
    const left = this.#retryAt - performance.now();
    if (left > 0)
      throw new UpstreamFailure(
        'start',
        `${this.#lastError}; it can be started again in ${Math.ceil(left / 1000)} s`,
      );
    this.#state = 'starting';
    this.#starts += 1;
    try {
      return await this.#begin();
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async #begin(): Promise<Life> {
    const started: { life: Life | null; at: number } = { life: null, at: 0 };
    const life = await startLife(this.name, this.#config, this.#deps, this.#limits, {
      listChanged: () => void this.#relist().catch(onlyFailure),
      ended: (reason) => this.#ended(started.life, reason, performance.now() - started.at),
      over: this.#over.signal,
    });
    try {
      await this.offer.declare(await life.listTools());
      if (life.reason !== null) throw new UpstreamFailure('ended', life.reason);
      if (this.#over.signal.aborted) throw new UpstreamFailure('start', 'was stopped');
    } catch (error) {
      await life.stop();
      throw error;
    }
    Object.assign(started, { life, at: performance.now() });
    this.#life = life;
    this.#lives.add(life);
    void life.gone.then(() => this.#lives.delete(life));
    this.#state = 'ready';
    this.#emit({ kind: 'started', pid: life.pid });
    if (this.#logLevel !== null) life.setLogLevel(this.#logLevel);
    return life;
  }

  /** `life` is null for one that is still starting: whoever starts it tells. */
  #ended(life: Life | null, reason: string, livedMs: number): void {
    if (life === null) return;
    if (reason === 'was stopped') this.#emit({ kind: 'stopped' });
    // Whoever took it out is about to say what follows.
    if (this.#life !== life) return;
    this.#life = null;
    if (reason === 'was stopped') return;
    if (livedMs >= stableMs) this.#failures = 0;
    this.#failed(reason);
  }

  #failed(reason: string): void {
    this.#state = 'failed';
    this.#lastError = reason;
    this.#failures += 1;
    this.#retryAt = performance.now() + this.#limits.backoffMs(this.#failures);
    this.#emit({ kind: 'failed', reason });
  }

  /** One fetch at a time; what is said meanwhile makes one more. */
  #relist(): Promise<void> {
    this.#listAgain = true;
    this.#listing ??= this.#relistLoop();
    return this.#listing;
  }

  async #relistLoop(): Promise<void> {
    try {
      while (this.#listAgain && this.#life !== null) {
        this.#listAgain = false;
        await this.offer.declare(await this.#life.listTools());
        if (this.#listAgain) await new Promise((resolve) => setTimeout(resolve, relistMs).unref());
      }
    } catch (error) {
      if (error instanceof UpstreamFailure && error.kind !== 'ended') await this.#drop(error);
      throw error;
    } finally {
      this.#listing = null;
    }
  }

  /** What it has now is not known, so it is not used any more. */
  async #drop(why: UpstreamFailure): Promise<void> {
    const life = this.#life;
    if (life === null) return;
    this.#life = null;
    this.#failed(why.message);
    await life.stop();
  }

  /** The work goes on when the caller does not wait for it any more. */
  async #until<T>(work: Promise<T>, signal: AbortSignal, timeoutMs?: number): Promise<T> {
    const over = timeoutMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = () =>
      reject(
        new UpstreamFailure(signal.aborted ? 'cancelled' : 'timeout', 'was not ready when the call ended'),
      );
    if (over.aborted) onAbort();
    over.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([work, promise]);
    } finally {
      over.removeEventListener('abort', onAbort);
    }
  }

  /** Text for the agent: names the server, and what to expect. */
  #explain(error: unknown): string {
    const subject = `upstream server '${this.name}'`;
    const scrub = (text: string) => this.#deps.scrub.scrub(text);
    if (error instanceof RpcError)
      return `${subject} answered with error ${error.code}: ${scrub(error.message)}`;
    if (!(error instanceof UpstreamFailure)) throw error;
    const outlook =
      error.kind === 'ended' && !this.#over.signal.aborted ? '; the next call starts it again' : '';
    return `${subject} ${scrub(error.message)}${outlook}`;
  }

  #emit(event: EventBody): void {
    this.#deps.onEvent({ server: this.name, ...event } as UpstreamEvent);
  }
}

function refused(detail: string): UpstreamOutcome {
  return { kind: 'refused', reason: 'upstream_tool_not_allowed', detail };
}

/** It is kept in the status and told by an event. */
function onlyFailure(error: unknown): void {
  if (!(error instanceof UpstreamFailure)) throw error;
}
