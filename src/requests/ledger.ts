/** PURE: the key records of the log, in any order, to the state of requests and grants. */
import type { Entry, LogRecord } from '../log/record.ts';
import type { Grant, Request } from './types.ts';

type Of<E extends LogRecord['event']> = Extract<LogRecord, { event: E }>;
type Draft<T> = { -readonly [K in keyof T]: T[K] };

/** Of a bare gateway, which has no session: whatever runs with that config under that name. */
export const bareId = /^serve-/;

/** The newest gateway of a session: what it last said of itself. */
export type Gateway = { readonly pid: number; readonly running: boolean; readonly config: string };

export class Ledger {
  readonly #requests = new Map<string, Draft<Request>>();
  readonly #grants = new Map<string, Draft<Grant>>();
  readonly #gateways = new Map<string, Gateway>();
  /** Records that came before what they are about: files are read one after the other. */
  #early: LogRecord[] = [];

  get requests(): ReadonlyMap<string, Request> {
    return this.#requests;
  }
  get grants(): ReadonlyMap<string, Grant> {
    return this.#grants;
  }

  /** By the id of its session. */
  get gateways(): ReadonlyMap<string, Gateway> {
    return this.#gateways;
  }

  add(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    let waiting = [...this.#early, ...entries.map(({ record }) => record)];
    // As long as it helps: what one record waits for may come after it.
    for (let before = Infinity; waiting.length < before;) {
      before = waiting.length;
      waiting = waiting.filter((record) => !this.#take(record));
    }
    this.#early = waiting;
  }

  /** An approval whose file was written before its writer could say so. */
  settle(id: string): void {
    const request = this.#requests.get(id);
    if (!request?.begun || request.status !== 'pending') return;
    const { at, actor, verdict, after } = request.begun;
    request.status = 'approved';
    request.decision = { at, actor, verdict, scope: 'apply', grant: null, config: after, reason: null };
  }

  /** False: what it is about has not been seen yet. */
  #take(record: LogRecord): boolean {
    switch (record.event) {
      case 'requested':
        // The first of an id stands: what was shown under it is not replaced.
        if (!this.#requests.has(record.id)) this.#requests.set(record.id, requested(record));
        return true;
      case 'approved':
        return this.#approve(record);
      case 'denied':
        return this.#decide(record.id, 'denied', {
          at: Date.parse(record.time),
          actor: record.actor,
          scope: null,
          verdict: null,
          grant: null,
          config: null,
          reason: record.reason,
        });
      case 'granted':
        return this.#grant(record);
      case 'revoked':
        return this.#end(record.grant, Date.parse(record.time), 'revoked');
      case 'decided':
        return this.#use(record);
      case 'up':
        this.#began(record);
        return true;
      case 'down':
        for (const [id, gateway] of this.#gateways)
          if (record.what === 'gateway' && gateway.pid === record.pid)
            this.#gateways.set(id, { ...gateway, running: false });
        return true;
      case 'reload': {
        const gateway = this.#gateways.get(record.session_id ?? '');
        if (gateway && record.session_id !== undefined)
          this.#gateways.set(record.session_id, { ...gateway, config: record.config });
        return true;
      }
      default:
        return true;
    }
  }

  /** The first decision stands. */
  #decide(id: string, status: 'approved' | 'denied', decision: NonNullable<Request['decision']>): boolean {
    const request = this.#requests.get(id);
    if (!request) return false;
    if (request.status === 'pending') Object.assign(request, { status, decision });
    return true;
  }

  #approve(record: Of<'approved'>): boolean {
    const { id, actor, verdict, scope, config } = record;
    const at = Date.parse(record.time);
    if (record.step !== 'begin')
      return this.#decide(id, 'approved', {
        at,
        actor,
        scope,
        verdict,
        grant: null,
        config: config?.after ?? null,
        reason: null,
      });
    const request = this.#requests.get(id);
    if (request && config) request.begun = { ...config, at, actor, verdict };
    return request !== undefined;
  }

  /** A grant is an approval in itself: there is none without an effect. */
  #grant(record: Of<'granted'>): boolean {
    const { grant: id, rule, scope } = record;
    if (!rule || !scope) return true;
    const at = Date.parse(record.time);
    if (record.id !== null) {
      const { actor, verdict = null } = record;
      const decision = { at, actor, scope, verdict, grant: id, config: null, reason: null };
      if (!this.#decide(record.id, 'approved', decision)) return false;
    }
    this.#grants.set(id, {
      id,
      request: record.id,
      actor: record.actor,
      why: record.why ?? '',
      at,
      session: record.id === null ? null : (this.#requests.get(record.id)?.session ?? null),
      sessionId: record.session_id,
      scope,
      expires: record.expires === null ? null : Date.parse(record.expires),
      uses: record.uses,
      used: 0,
      ended: null,
      rule,
    });
    return true;
  }

  #end(id: string, at: number, why: string): boolean {
    const grant = this.#grants.get(id);
    if (!grant) return false;
    grant.ended ??= { at, why };
    return true;
  }

  #use({ grant: id, uses_left: left }: Of<'decided'>): boolean {
    const grant = this.#grants.get(id ?? '');
    if (!grant || left === undefined || grant.uses === null) return grant !== undefined;
    grant.used = Math.max(grant.used, grant.uses - left);
    return true;
  }

  /** A bare gateway is its own session: what was granted for that ends when another one begins. */
  #began({ what, facts, time, pid }: Of<'up'>): void {
    const id = facts['session_id'];
    if (what !== 'gateway' || typeof id !== 'string') return;
    this.#gateways.set(id, { pid, running: true, config: String(facts['config']) });
    if (!bareId.test(id)) return;
    for (const grant of this.#grants.values())
      if (grant.sessionId === id && grant.scope === 'session' && grant.at < Date.parse(time))
        grant.ended ??= { at: Date.parse(time), why: 'ended' };
  }
}

function requested(record: Of<'requested'>): Request {
  return {
    id: record.id,
    digest: record.digest,
    at: Date.parse(record.time),
    session: record.session,
    sessionId: record.session_id ?? null,
    tool: record.tool,
    subcommand: record.subcommand,
    flags: record.flags,
    args: record.args,
    argv: record.argv ?? null,
    call: record.call,
    cwd: record.cwd ?? null,
    rationale: record.rationale,
    enables: record.enables,
    client: record.client,
    configFile: record.config_file ?? null,
    status: 'pending',
    decision: null,
    begun: null,
  };
}
