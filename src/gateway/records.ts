/** The three records of a call. What an agent sent is scrubbed, and cut where it is larger than a record may be. */
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
  call: { caller: Caller; name: string; run: Run | null },
): string {
  const { caller, name, run } = call;
  return log.append({
    event: 'received',
    name: scrub(name.slice(0, 256)),
    tool: run && scrub(run.tool.slice(0, 256)),
    ...(run ? bounded(run.argv, scrub) : { argv: null }),
    client: scrub(caller.client),
    // Enough to tell sessions apart; the whole id could be used.
    mcp_session: caller.mcpSession?.slice(-12) ?? null,
    key: caller.repeat?.key ?? null,
  });
}

export function logDecided(
  log: Log,
  scrub: Scrub,
  facts: { seq: string; decision: Decision; cwd: string | null; config: string },
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

export function logFinished(
  log: Log,
  seq: string,
  outcome: Outcome | { kind: 'failed'; detail: string },
): void {
  const ended = outcome.kind === 'finished' ? outcome : null;
  log.append({
    event: 'finished',
    call: seq,
    outcome: outcome.kind === 'finished' ? 'exited' : outcome.kind,
    exit_code: ended?.exitCode ?? null,
    signal: ended?.signal ?? null,
    timed_out: ended?.timedOut ?? false,
    cancelled: ended?.cancelled ?? false,
    truncated: ended?.truncated ?? false,
    duration_ms: Math.round(ended?.durationMs ?? 0),
    output_chars: ended ? ended.stdout.length + ended.stderr.length : 0,
    detail: outcome.kind === 'finished' ? null : outcome.detail.slice(0, 4096),
  });
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
