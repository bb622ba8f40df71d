/** The three records of a call. What an agent sent is scrubbed, and cut where it is larger than a record may be. */
import { WraptoolError } from '../errors.ts';
import type { Outcome } from '../executor/types.ts';
import type { Log } from '../log/append.ts';
import type { Decision } from '../policy/types.ts';
import type { Caller } from './core.ts';
import type { Run } from './run.ts';

type Scrub = (text: string) => string;

/** JSON may need six bytes for a character; a record has 1 MiB. */
const mostChars = 96 * 1024;
const mostWords = 2048;
const reach = 8192;

export function logReceived(
  log: Log,
  scrub: Scrub,
  call: {
    caller: Caller;
    name: string;
    run: Run | null;
    upstream?: Readonly<Record<string, unknown>> | null;
  },
): string {
  const { caller, name, run, upstream = null } = call;
  return log.append({
    event: 'received',
    name: scrub(name.slice(0, 256)),
    tool: run && scrub(run.tool.slice(0, 256)),
    ...(run ? bounded(run.argv, scrub) : { argv: null }),
    ...(upstream ? { arguments: boundedJson(upstream, scrub) } : {}),
    client: scrub(caller.client),
    // Enough to tell sessions apart; the whole id could be used.
    mcp_session: caller.mcpSession?.slice(-12) ?? null,
    key: caller.repeat?.key ?? null,
  });
}

/** A call of an upstream server's tool, for which the config has a name and no rule. */
export type UpstreamAllowed = {
  readonly decision: 'allow';
  readonly tool: string;
  readonly subcommand: readonly [];
  readonly argv: readonly [];
  readonly rule: null;
};

export function logDecided(
  log: Log,
  scrub: Scrub,
  facts: { seq: string; decision: Decision | UpstreamAllowed; cwd: string | null; config: string },
): void {
  const { decision } = facts;
  const denied = decision.decision === 'deny' ? decision : null;
  log.append({
    event: 'decided',
    call: facts.seq,
    decision: decision.decision,
    reason: denied?.reason ?? null,
    detail: denied && scrub(denied.detail.slice(0, 4096)),
    tool: scrub(decision.tool.slice(0, 256)),
    subcommand: decision.subcommand.map(scrub),
    ...bounded(decision.argv, scrub),
    cwd: facts.cwd,
    rule: decision.rule && {
      file: decision.rule.file,
      line: decision.rule.line,
      effect: decision.rule.effect,
    },
    config: facts.config,
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
function boundedJson(value: Readonly<Record<string, unknown>>, scrub: Scrub): string {
  return scrub(JSON.stringify(value).slice(0, mostChars + reach)).slice(0, mostChars);
}

function bounded(argv: readonly string[], scrub: Scrub): { argv: string[]; argv_cut?: true } {
  const kept: string[] = [];
  let room = mostChars;
  for (const word of argv.slice(0, mostWords)) {
    // Cut after scrubbing, so that no half of a secret is left at the cut.
    kept.push(scrub(word.slice(0, room + reach)).slice(0, room));
    room -= word.length;
    if (room <= 0) break;
  }
  const whole = kept.length === argv.length && room > 0;
  return whole ? { argv: kept } : { argv: kept, argv_cut: true };
}
