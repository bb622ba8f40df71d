/** The three records of a call. What an agent sent is scrubbed, and cut where it is larger than a record may be. */
import { createHash } from 'node:crypto';
import { WraptoolError } from '../errors.ts';
import type { Outcome } from '../executor/types.ts';
import type { Log } from '../log/append.ts';
import type { Decision } from '../policy/types.ts';
import type { Caller } from './core.ts';
import type { Run } from './run.ts';

type Scrub = (text: string) => string;

/** JSON may need six bytes for a character; a record has 1 MiB. */
const whole: Room = { chars: 96 * 1024, words: 2048 };
/** Of what was refused, or is not decided yet, so that whoever is refused again and again can't fill the disk. */
const little: Room = { chars: 4096, words: 128 };
const reach = 8192;

type Room = { readonly chars: number; readonly words: number };

export function logReceived(
  log: Log,
  scrub: Scrub,
  call: {
    caller: Caller;
    name: string;
    run: Run | null;
    /** Arguments of a call to an upstream server, and whether its tool is allowed. */
    upstream?: { readonly args: Readonly<Record<string, unknown>>; readonly allowed: boolean } | null;
  },
): string {
  const { caller, name, run, upstream = null } = call;
  return log.append({
    event: 'received',
    name: scrub(name.slice(0, 256)),
    tool: run && scrub(run.tool.slice(0, 256)),
    // A call that is allowed has its argv in the decision, whole.
    ...(run ? bounded(run.argv, scrub, little) : { argv: null }),
    ...(upstream ? { arguments: boundedJson(upstream.args, scrub, upstream.allowed ? whole : little) } : {}),
    client: scrub(caller.client),
    // Enough to tell sessions apart; the whole id could be used.
    mcp_session: caller.mcpSession?.slice(-12) ?? null,
    key: caller.repeat?.key ?? null,
  });
}

/** Allowed by no rule of the config: a call of an upstream server's tool, or one that was granted. */
export type AllowedOtherwise = {
  readonly decision: 'allow';
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly argv: readonly string[];
  readonly rule: null;
};

export function logDecided(
  log: Log,
  scrub: Scrub,
  facts: {
    seq: string;
    decision: Decision | AllowedOtherwise;
    cwd: string | null;
    config: string;
    /** By what the call is allowed where the config does not; `left` where its uses are counted. */
    grant?: { readonly id: string; readonly left: number | null } | null;
  },
): void {
  const { grant = null } = facts;
  const { decision } = facts;
  const denied = decision.decision === 'deny' ? decision : null;
  log.append({
    event: 'decided',
    call: facts.seq,
    decision: decision.decision,
    reason: denied?.reason ?? null,
    detail: denied && scrub(denied.detail.slice(0, 4096)),
    tool: scrub(decision.tool.slice(0, 256)),
    // Where it is none that a rule has, its last word is the agent's.
    subcommand: decision.subcommand.map((word) => scrub(word.slice(0, 256 + reach)).slice(0, 256)),
    ...bounded(decision.argv, scrub, denied ? little : whole),
    cwd: facts.cwd,
    rule: decision.rule && {
      file: decision.rule.file,
      line: decision.rule.line,
      effect: decision.rule.effect,
    },
    config: facts.config,
    ...(grant === null ? {} : { grant: grant.id }),
    ...(grant === null || grant.left === null ? {} : { uses_left: grant.left }),
  });
}

export type Ended =
  | Extract<Outcome, { kind: 'finished' }>
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string }
  /** By an upstream server. */
  | {
      readonly kind: 'answered';
      readonly durationMs: number;
      readonly cancelled: boolean;
      readonly chars: number;
    };

export type Recorder = { readonly log: Log; readonly fault: (error: unknown) => void };

/** The call has happened: an outcome that can't be logged is told to the operator, and the next call is refused. */
export function finishCall({ log, fault }: Recorder, seq: string, outcome: Ended): void {
  try {
    logFinished(log, seq, outcome);
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    fault(error);
  }
}

function logFinished(log: Log, seq: string, outcome: Ended): void {
  const ended = outcome.kind === 'finished' ? outcome : null;
  const answered = outcome.kind === 'answered' ? outcome : null;
  log.append({
    event: 'finished',
    call: seq,
    outcome: outcome.kind === 'finished' ? 'exited' : outcome.kind,
    exit_code: ended?.exitCode ?? null,
    signal: ended?.signal ?? null,
    timed_out: ended?.timedOut ?? false,
    cancelled: (ended ?? answered)?.cancelled ?? false,
    truncated: ended?.truncated ?? false,
    duration_ms: Math.round((ended ?? answered)?.durationMs ?? 0),
    output_chars: ended ? ended.stdout.length + ended.stderr.length : (answered?.chars ?? 0),
    detail: 'detail' in outcome ? outcome.detail.slice(0, 4096) : null,
  });
}

/** As JSON; cut after scrubbing, so that no half of a secret is left at the cut. */
function boundedJson(value: Readonly<Record<string, unknown>>, scrub: Scrub, { chars }: Room): string {
  const json = JSON.stringify(value);
  const kept = scrub(json.slice(0, chars + reach)).slice(0, chars);
  return json.length <= chars ? kept : `${kept} [of ${json.length} characters, sha256 ${digest(json)}]`;
}

type Kept = { argv: string[]; argv_cut?: { words: number; chars: number; sha256: string } };

/** The beginning of argv; what was cut off is counted, and can be told by the digest of the whole. */
function bounded(argv: readonly string[], scrub: Scrub, { chars, words }: Room): Kept {
  const kept: string[] = [];
  let room = chars;
  for (const word of argv.slice(0, words)) {
    if (room <= 0) break;
    // Cut after scrubbing, so that no half of a secret is left at the cut.
    kept.push(scrub(word.slice(0, room + reach)).slice(0, room));
    room -= word.length;
  }
  if (kept.length === argv.length && room >= 0) return { argv: kept };
  const total = argv.reduce((sum, word) => sum + word.length, 0);
  return {
    argv: kept,
    argv_cut: { words: argv.length, chars: total, sha256: digest(JSON.stringify(argv)) },
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
