/**
 * Where an operator decides. One decision at a time, whatever process it is made in; each is checked against the log
 * as it is then, bound to what was shown, and on disk before it is acknowledged. Nothing of this is reachable by MCP.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig, parseConfig } from '../config/load.ts';
import { editFile } from '../edit/file.ts';
import { takeClaim, type Disk } from '../edit/lock.ts';
import { WraptoolError } from '../errors.ts';
import { openLog, type Log } from '../log/append.ts';
import { evaluate } from '../policy/evaluate.ts';
import type { Decision } from '../policy/types.ts';
import { callOf, isMet, noChangeError, planChange, type Change, type Ground } from './change.ts';
import type { Ledger } from './ledger.ts';
import { byPrefix, freshId, isRunning, readLedger, type LedgerReader } from './read.ts';
import { review, type Review } from './review.ts';
import { stateOf, type Grant, type GrantScope, type Request } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type DeskOptions = {
  /** Folder of the log. */
  readonly dir: string;
  /** For requests that name no config of their own. */
  readonly config: string;
  readonly env: Env;
  /** Who decides, as the log says it. */
  readonly actor: string;
  readonly disk?: Disk;
};

export type ScopeChoice =
  | { readonly scope: 'apply' }
  | { readonly scope: 'once' | 'session' }
  | { readonly scope: 'uses'; readonly uses: number }
  | { readonly scope: 'for'; readonly ms: number };

export type ApproveOptions = {
  readonly choice: ScopeChoice;
  readonly wide: boolean;
  /** Digest of the review that the operator saw; null where none was shown. */
  readonly shown: string | null;
};

export type Approval = {
  readonly id: string;
  readonly scope: ScopeChoice['scope'];
  readonly grant: Grant | null;
  /** Of an `apply`: the file, and whether it had to be changed. */
  readonly file: string;
  readonly changed: boolean;
  readonly diff: string;
  readonly notes: readonly string[];
  /** On the request, as config and grants are now. */
  readonly verdict: 'allow' | 'deny';
  readonly reason: string | null;
  /** Whether the gateway of the request's session works by it already. */
  readonly gateway: 'in force' | 'not yet' | 'not running';
};

/** How long a running gateway is waited for. */
const patienceMs = 4_000;

export class Desk {
  readonly #options: DeskOptions;
  readonly #reader: LedgerReader;
  readonly #disk: Disk;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#reader = readLedger(options.dir);
    this.#disk = options.disk ?? fs;
  }

  async ledger(): Promise<Ledger> {
    await this.#reader.refresh();
    return this.#reader.ledger;
  }

  /** By a unique prefix of its id. Throws request_unknown, usage. */
  async request(prefix: string): Promise<Request> {
    return byPrefix((await this.ledger()).requests, prefix, 'request');
  }

  async review(request: Request, wide: boolean): Promise<Review> {
    return review(request, await this.#ground(request), this.#options.dir, wide);
  }

  /** Throws request_stale, request_decided, and what keeps the change from being made; then nothing was. */
  async approve(id: string, options: ApproveOptions): Promise<Approval> {
    return this.#decide(async () => {
      const request = await this.#pending(id);
      const ground = await this.#ground(request);
      if (options.shown !== null) {
        const now = await review(request, ground, this.#options.dir, options.wide);
        if (now.digest !== options.shown) throw stale(id);
      }
      const log = await openLog(this.#options.dir, { session: request.session });
      try {
        return options.choice.scope === 'apply'
          ? await this.#apply(request, ground, options, log)
          : await this.#grant(request, ground, options, options.choice, log);
      } finally {
        log.close();
      }
    });
  }

  async deny(id: string, reason: string): Promise<Request> {
    return this.#decide(async () => {
      const { id: whole, session } = await this.#pending(id);
      await this.#append(session, { event: 'denied', id: whole, actor: this.#options.actor, reason });
      return this.request(whole);
    });
  }

  /** By the grant's id, or that of the request it was given for. */
  async revoke(prefix: string, reason: string | null): Promise<Grant> {
    await this.grant(prefix);
    return this.#decide(async () => {
      const grant = await this.grant(prefix);
      const { id, session } = grant;
      const state = stateOf(grant, Date.now());
      if (state !== 'live')
        throw new WraptoolError('request_decided', `the grant "${id}" is ${state} already`, {
          hint: '"wraptool grants list" shows those that are in force',
        });
      await this.#append(session, { event: 'revoked', grant: id, actor: this.#options.actor, reason });
      return this.grant(id);
    });
  }

  /** By a unique prefix of its id, or of that of the request it was given for. Throws request_unknown, usage. */
  async grant(prefix: string): Promise<Grant> {
    const { grants, requests } = await this.ledger();
    const named = prefix.startsWith('req_')
      ? (byPrefix(requests, prefix, 'request').decision?.grant ?? prefix)
      : prefix;
    return byPrefix(grants, named, 'grant');
  }

  async #append(session: string | null, event: Parameters<Log['append']>[0]): Promise<void> {
    const log = await openLog(this.#options.dir, { session });
    try {
      log.append(event);
    } finally {
      log.close();
    }
  }

  /** One decision at a time: who comes second sees what the first one did. */
  async #decide<T>(work: () => Promise<T>): Promise<T> {
    const claim = await takeClaim(path.join(await fs.realpath(this.#options.dir), 'decisions'), this.#disk);
    try {
      return await work();
    } finally {
      await claim.release();
    }
  }

  async #pending(id: string): Promise<Request> {
    const request = await this.request(id);
    if (request.status === 'pending') return request;
    throw new WraptoolError('request_decided', `the request "${request.id}" was ${request.status} already`, {
      hint: `"wraptool requests show ${request.id}" says by whom`,
    });
  }

  async #ground({ configFile }: Pick<Request, 'configFile'>): Promise<Ground> {
    const { config, env } = this.#options;
    return { snapshot: await loadConfig({ path: configFile ?? config, env, locations: false }), env };
  }

  async #grant(
    request: Request,
    ground: Ground,
    { wide, shown }: ApproveOptions,
    choice: Exclude<ScopeChoice, { scope: 'apply' }>,
    log: Log,
  ): Promise<Approval> {
    const change = must(planChange(ground, request, wide), ground);
    const id = freshId('grt', (await this.ledger()).grants);
    const expires = choice.scope === 'for' ? new Date(Date.now() + choice.ms).toISOString() : null;
    log.append({
      event: 'granted',
      grant: id,
      id: request.id,
      actor: this.#options.actor,
      session_id: request.sessionId,
      expires,
      uses: usesOf(choice),
      scope: choice.scope,
      why: request.rationale,
      verdict: change.met ? 'allow' : 'deny',
      rule: mutable(change.rule),
    });
    // The grant decides; this says what it was that was approved.
    log.append({
      event: 'approved',
      id: request.id,
      actor: this.#options.actor,
      scope: choice.scope,
      digest: shown ?? ground.snapshot.hash,
      verdict: change.met ? 'allow' : 'deny',
    });
    const grant = byPrefix((await this.ledger()).grants, id, 'grant');
    return {
      id: request.id,
      scope: choice.scope,
      grant,
      file: ground.snapshot.file,
      changed: false,
      diff: change.edited.diff,
      notes: change.edited.notes,
      ...verdictOf(change.met, change.decision),
      gateway: isRunning(this.#reader.ledger, request) ? 'in force' : 'not running',
    };
  }

  async #apply(
    request: Request,
    ground: Ground,
    { wide, shown }: ApproveOptions,
    log: Log,
  ): Promise<Approval> {
    const { actor, env, config } = this.#options;
    const file = request.configFile ?? config;
    const about = { event: 'approved', id: request.id, actor, scope: 'apply' } as const;
    const written: { change: Change; after: string }[] = [];
    const outcome = await editFile(
      file,
      (text) => {
        if (text === null) throw new WraptoolError('config_missing', `there is no config at "${file}"`);
        const before = sha256(text);
        // An editor may have saved since the review: with nothing shown the change is made to what it saved.
        if (shown !== null && before !== ground.snapshot.hash) throw stale(request.id);
        const snapshot = parseConfig(Buffer.from(text), { file, real: ground.snapshot.file, env });
        const change = must(planChange({ snapshot, env }, request, wide), ground);
        const after = sha256(change.edited.text);
        written.push({ change, after });
        // Before the file is written: whoever finds the file changed and no `done` knows who changed it.
        if (change.edited.changes.length > 0)
          log.append({
            ...about,
            digest: shown ?? before,
            verdict: 'allow',
            step: 'begin',
            config: { file, before, after },
          });
        return change.edited;
      },
      this.#disk,
    );
    const last = written.at(-1);
    if (!outcome.ok || !last) throw noChangeError(outcome as Extract<typeof outcome, { ok: false }>, file);
    const now = await this.#verdict(request, file);
    log.append({
      ...about,
      digest: shown ?? ground.snapshot.hash,
      verdict: now.verdict,
      step: 'done',
      config: { file, before: ground.snapshot.hash, after: last.after },
    });
    return {
      id: request.id,
      scope: 'apply',
      grant: null,
      file,
      changed: outcome.changes.length > 0,
      diff: outcome.diff,
      notes: outcome.notes,
      ...now,
      gateway: await this.#pickedUp(request, last.after),
    };
  }

  /** By the file as it is now, whatever was meant to be written. */
  async #verdict(request: Request, file: string): Promise<Pick<Approval, 'verdict' | 'reason'>> {
    const { policy } = await loadConfig({ path: file, env: this.#options.env, locations: false });
    const decision = evaluate(policy, callOf(request));
    return verdictOf(isMet(request, decision), decision);
  }

  async #pickedUp(request: Request, config: string): Promise<Approval['gateway']> {
    const end = Date.now() + patienceMs;
    for (;;) {
      const { gateways } = await this.ledger();
      if (!isRunning(this.#reader.ledger, request)) return 'not running';
      if (gateways.get(request.sessionId ?? '')?.config === config) return 'in force';
      if (Date.now() > end) return 'not yet';
      await pause(50);
    }
  }
}

function verdictOf(met: boolean, decision: Decision): Pick<Approval, 'verdict' | 'reason'> {
  if (met) return { verdict: 'allow', reason: null };
  return { verdict: 'deny', reason: decision.decision === 'deny' ? decision.reason : null };
}

const usesOf = (choice: { scope: GrantScope; uses?: number }): number | null =>
  choice.scope === 'once' ? 1 : (choice.uses ?? null);

function must(change: ReturnType<typeof planChange>, { snapshot }: Ground): Change {
  if (change.ok) return change;
  throw noChangeError(change, snapshot.file);
}

function stale(id: string): WraptoolError {
  return new WraptoolError('request_stale', `what was shown of "${id}" has changed since`, {
    hint: `look at it again with "wraptool requests show ${id}"`,
  });
}

/** As the log takes it. */
function mutable(
  rule: Change['rule'],
): NonNullable<Extract<Parameters<Log['append']>[0], { event: 'granted' }>['rule']> {
  return structuredClone(rule) as ReturnType<typeof mutable>;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
