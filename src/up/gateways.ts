/**
 * The gateways of one session, one after the other behind one address and one token. Nobody else starts, replaces or ends
 * one; how each ended is judged here, and what was not asked for is never passed over in silence.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import type { Proof } from '../restart/health.ts';
import type { Marker, Mode } from '../restart/types.ts';
import { takeAddress } from '../supervise/address.ts';
import { endLine, signalOf, type EndKind, type GatewayEnd } from '../supervise/end.ts';
import { startGateway, type Gateway, type GatewayStart } from '../supervise/supervisor.ts';
import type { Audit } from './audit.ts';
import { Backoff } from './backoff.ts';
import { configHash } from './config-hash.ts';
import { Contaminations } from './contaminations.ts';
import {
  asFailure,
  attempt,
  attemptProof,
  ended,
  endedFirst,
  expectedOf,
  happens,
  onlyGone,
  type RestartResult,
} from './outcomes.ts';
import { probe } from './probe.ts';
import type { LaunchSpec, Started } from './runtime/runtime.ts';
import { recordEvent } from './session-events.ts';
import type { Session } from './session.ts';

export type GatewaysOptions = {
  readonly session: Session;
  /** All but where it listens. */
  readonly start: Omit<GatewayStart, 'socket'>;
  readonly policy: 'never' | 'on-crash';
  readonly audit: Audit;
  /** To the operator. */
  readonly warn: (text: string) => void;
};

export class Gateways {
  readonly #options: GatewaysOptions;
  /** Ends that are being told. */
  readonly #told = new Set<Promise<void>>();
  readonly #live = new Set<Gateway>();
  readonly #backoff: Backoff;
  #current: Gateway | null = null;
  #count = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #first: Promise<void> | null = null;
  /** Asked for, and not begun: by what it is. */
  readonly #waiting = new Map<string, Promise<RestartResult>>();
  #inside: { readonly started: Started; readonly spec: LaunchSpec } | null = null;
  readonly #closing = new AbortController();
  #asked: Gateway | null = null;
  readonly #contaminations: Contaminations;

  constructor(options: GatewaysOptions) {
    this.#options = options;
    this.#contaminations = new Contaminations({
      env: options.start.env,
      namespace: { name: options.session.state.name, kind: 'session' },
      audit: options.audit,
      written: ({ id: marker, detail }) => this.#event('contamination', { marker, detail }),
      fault: (error) => this.#fault(error),
    });
    this.#backoff = new Backoff(() => this.#inTurn(() => this.#afterCrash()).catch(this.#fault));
  }

  /** The first one. Error: gateway_failed, and whatever keeps a gateway from starting. */
  start(): Promise<void> {
    this.#first = (async () => this.#take(await this.#launch()))();
    return this.#first;
  }

  /** Markers of gateways of this session that could not be written; it is tried again. */
  unwritten(): Promise<readonly Marker[]> {
    return this.#contaminations.settle();
  }

  /** From here on it can be looked at from inside. */
  ready(started: Started, spec: LaunchSpec): void {
    this.#inside = { started, spec };
  }

  /** What a probe has to find. Error: gateway_failed where there is no gateway. */
  async expected(): Promise<{ readonly tool: string; readonly config: string }> {
    this.#asked = this.#present();
    return expectedOf(this.#asked);
  }

  /** Takes what was seen from inside for the gateway that `expected` was last asked of; one that came since stays unproven. */
  async proven(proof: Proof): Promise<void> {
    const gateway = this.#present();
    if (gateway !== this.#asked) return;
    await this.#proven(gateway, proof);
  }

  async #proven(gateway: Gateway, proof: Proof): Promise<void> {
    // Where it can't be noted, `ps` knows less than the gateway.
    await this.#options.session.update({ proof }).catch(this.#fault);
    await gateway.give({ do: 'prove', proven: proof.ok });
  }

  /**
   * One at a time, in the order in which they were asked for; one that is asked for like another that has not begun is
   * that other one. Never rejects for what a gateway does.
   */
  restart(mode: Mode): Promise<RestartResult> {
    return this.#joined(mode, async () => {
      if (this.#closed) return ended();
      await this.#quiescing(true);
      const done = await (mode === 'reload' ? this.#reload() : this.#replace()).finally(() =>
        this.#quiescing(false),
      );
      this.#event(mode, done);
      await this.#prove();
      return done;
    });
  }

  /** Starts one upstream server anew; the others and the gateway go on. */
  restartServer(server: string): Promise<RestartResult> {
    return this.#joined(`restart/${server}`, async () => {
      if (this.#closed) return ended();
      const done = await attempt('restarted', async () => {
        await this.#present().giveSlow({ do: 'restart_server', server });
      });
      this.#event('restart', { server, ...done });
      return done;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#backoff.stop();
    // One that is starting is ended, too.
    await Promise.allSettled([this.#first]);
    await Promise.all([...this.#live].map((gateway) => gateway.stop()));
    // Their ends are on record before the session's folder goes.
    await Promise.all(this.#told);
  }

  async #replace(): Promise<RestartResult> {
    const old = this.#current;
    // One that dies meanwhile has nothing left to end, and one that hangs is not waited for.
    const quiet = old !== null && (await happens(() => old.giveSlow({ do: 'quiesce' })));
    let next: Gateway | null = null;
    try {
      next = await this.#launch();
      await this.#take(next);
    } catch (thrown) {
      const error = asFailure(thrown);
      await next?.stop();
      if (this.#closed) return ended();
      const kept = this.#current !== null && this.#current === old;
      if (kept) await old?.give({ do: 'resume' }).catch(onlyGone);
      if (error === null) throw thrown;
      const after = kept ? 'the old one goes on' : 'there is none';
      this.#options.warn(`the new gateway of "${this.#name}" did not start (${error.message}): ${after}`);
      return { result: kept ? 'kept' : 'failed', reason: error.code, detail: error.message };
    }
    // It ends by itself when nobody is left; if it is killed before, that is told like any other end.
    if (old !== null) this.#dismiss(old, quiet).catch(this.#fault);
    return { result: 'restarted', reason: null, detail: null };
  }

  async #dismiss(old: Gateway, quiet: boolean): Promise<void> {
    const left = quiet && (await happens(() => old.leave()));
    if (!left && this.#live.has(old)) await old.stop();
  }

  async #reload(): Promise<RestartResult> {
    const gateway = this.#current;
    if (gateway === null)
      return { result: 'failed', reason: 'gateway_failed', detail: 'there is no gateway to reload' };
    return attempt('reloaded', async () => {
      await gateway.giveSlow({ do: 'quiesce' });
      try {
        const { result } = await gateway.giveSlow({ do: 'reload' });
        return result === 'kept';
      } finally {
        await gateway.give({ do: 'resume' }).catch(onlyGone);
      }
    });
  }

  /** Whatever is seen counts only for the gateway that it was seen of. */
  async #prove(): Promise<void> {
    const gateway = this.#current;
    if (gateway === null || this.#inside === null || this.#closed) return;
    const { started, spec } = this.#inside;
    const proof = await attemptProof(async () => probe(started, spec, await expectedOf(gateway)));
    if (this.#current !== gateway) return;
    this.#event('probe', proof);
    await this.#proven(gateway, proof).catch(onlyGone);
  }

  /** Error: gateway_failed, too, where it says that it serves something else than the config. */
  async #launch(): Promise<Gateway> {
    const { session, start } = this.#options;
    this.#count += 1;
    const before = await configHash(start.config);
    const gateway = await startGateway({
      ...start,
      socket: path.join(session.dir, `gateway-${this.#count}.sock`),
      signal: this.#closing.signal,
      // One that is killed before it is ready has been killed all the same.
      ended: async (pid, kind, end) => {
        this.#event('gateway ended', { ...end, kind });
        if (kind === 'killed') await this.#contaminated(pid, endLine(end, kind));
      },
    });
    this.#live.add(gateway);
    const told = Promise.all([gateway.judged, gateway.ended])
      .then(([kind, end]) => this.#ended(gateway, kind, end))
      .catch(this.#fault);
    this.#told.add(told);
    void told.then(() => this.#told.delete(told));
    if (this.#closed) await gateway.stop();
    // The file may be changed while it starts.
    if (![before, await configHash(start.config)].includes(gateway.config)) {
      await gateway.stop();
      throw new WraptoolError('gateway_failed', `the gateway serves another config than "${start.config}"`, {
        hint: 'if the file was being changed, ask again',
      });
    }
    return gateway;
  }

  /** All of it, or nothing: where it can't be done, the one before has the address and the session's state again. */
  async #take(gateway: Gateway): Promise<void> {
    const { session } = this.#options;
    const old = this.#current;
    const { gateway: ref, gatewayFault, proof = null } = session.state;
    try {
      await session.update({ gateway: gateway.ref, gatewayFault: null, proof: null });
      await takeAddress(gateway.socket, session.socket);
      // From here on its end is the session's; it may have come before.
      if (!this.#live.has(gateway)) throw endedFirst();
      this.#current = gateway;
    } catch (error) {
      // Where the old one ended meanwhile, its end has written the state.
      if (this.#current === old) {
        if (old !== null) await takeAddress(old.socket, session.socket).catch(this.#fault);
        await session.update({ gateway: ref, gatewayFault, proof }).catch(this.#fault);
      }
      throw error;
    }
    this.#backoff.started();
    this.#event('gateway', { pid: gateway.ref.pid });
  }

  /** For `ps` and `inspect`. */
  async #quiescing(quiescing: boolean): Promise<void> {
    await this.#options.session.update({ quiescing }).catch(this.#fault);
  }

  /** What can't be noted keeps nothing from being done. */
  #event(what: string, detail: unknown): void {
    try {
      recordEvent(this.#options.session.dir, what, detail);
    } catch (error) {
      this.#fault(error);
    }
  }

  async #ended(gateway: Gateway, kind: EndKind, end: GatewayEnd): Promise<void> {
    const { session, warn, policy } = this.#options;
    const current = this.#current === gateway;
    this.#live.delete(gateway);
    if (current) this.#current = null;
    this.#event('gateway ended', { ...end, kind });
    if (kind === 'asked') return;
    const line = endLine(end, kind);
    // The marker first: without it nothing would keep the next one from being called clean.
    if (kind === 'killed') await this.#contaminated(gateway.ref.pid, line);
    // Another one may have taken its place meanwhile: the state is that one's.
    const left = current && this.#current === null;
    if (left) {
      const fault = signalOf(end) ?? `exit code ${end.code}`;
      const why = kind === 'out_of_memory' ? `${fault}, out of memory` : fault;
      await session.update({ gateway: null, gatewayFault: why, proof: null }).catch(this.#fault);
    }
    const next = !left
      ? ''
      : policy === 'on-crash' && !this.#closed
        ? '; it is started again'
        : `; "wraptool restart ${this.#name}" starts another${
            kind === 'killed' ? `, after "wraptool restart reconcile ${this.#name} --note TEXT"` : ''
          }`;
    warn(`the gateway of "${this.#name}" was ${line}${next}`.replace('was ended', 'ended'));
    if (left && policy === 'on-crash' && !this.#closed) this.#backoff.failed();
  }

  #contaminated(pid: number, line: string): Promise<void> {
    return this.#contaminations.add(
      `the gateway (pid ${pid}) was ${line}, which its supervisor did not send`,
    );
  }

  async #afterCrash(): Promise<void> {
    if (this.#closed || this.#current !== null) return;
    const { audit, session, warn } = this.#options;
    const done = await this.#replace();
    this.#event('restart after a crash', done);
    if (done.result === 'failed') this.#backoff.failed();
    else
      warn(
        `the gateway of "${this.#name}" was started again; it is unproven: until "wraptool restart ${this.#name}" only rules with read_only: true run`,
      );
    await audit.record({
      event: 'restart',
      namespace: this.#name,
      actor: 'supervisor',
      mode: 'on-crash',
      result: done.result,
      reason: done.reason,
      action_id: null,
      ids: { restart: randomBytes(8).toString('hex'), session: session.state.id },
    });
  }

  #present(): Gateway {
    if (this.#current !== null) return this.#current;
    throw new WraptoolError('gateway_failed', `"${this.#name}" has no gateway now`, {
      hint: `wraptool restart ${this.#name}`,
    });
  }

  #joined(what: string, work: () => Promise<RestartResult>): Promise<RestartResult> {
    const waits = this.#waiting.get(what);
    if (waits !== undefined) return waits;
    const turn = this.#inTurn(() => {
      this.#waiting.delete(what);
      return work();
    });
    this.#waiting.set(what, turn);
    return turn;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted;
  }

  get #name(): string {
    return this.#options.session.state.name;
  }

  readonly #fault = (error: unknown): void =>
    this.#options.warn(
      `the gateway of "${this.#name}": ${error instanceof Error ? error.message : String(error)}`,
    );
}
