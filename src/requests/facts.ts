/** Requests and grants as data: what `--json` prints and the page reads. Nothing is escaped. */
import type { Review } from './review.ts';
import { isExpired, stateOf, type Grant, type Request } from './types.ts';

/** `pending`, `approved`, `denied`; `expired` for one that nobody waits for any more. */
export function statusAt(request: Request, now: number): string {
  return isExpired(request, now) ? 'expired' : request.status;
}

export function requestFacts(request: Request, now: number): Record<string, unknown> {
  const { decision } = request;
  return {
    id: request.id,
    status: statusAt(request, now),
    time: iso(request.at),
    session: request.session,
    session_id: request.sessionId,
    client: request.client,
    tool: request.tool,
    subcommand: request.subcommand.join(' '),
    flags: request.flags,
    args: request.args,
    seq: request.call,
    argv: request.argv,
    cwd: request.cwd,
    rationale: request.rationale,
    enables: request.enables,
    decision: decision && {
      time: iso(decision.at),
      actor: decision.actor,
      scope: decision.scope,
      reason: decision.reason,
      verdict: decision.verdict,
      grant: decision.grant,
    },
  };
}

export function reviewFacts(review: Review, now: number): Record<string, unknown> {
  const { change } = review;
  return {
    ...requestFacts(review.request, now),
    call: review.call,
    runs: review.runs,
    binary: 'path' in review.binary ? review.binary.path : null,
    binary_problem: 'problem' in review.binary ? review.binary.problem : null,
    config: review.config,
    change: change.ok
      ? { ok: true, rule: change.rule, diff: change.edited.diff, notes: change.edited.notes }
      : { ok: false, code: change.code, message: change.why },
    newly_allowed: review.past.calls,
    past_refused: review.past.looked,
    digest: review.digest,
  };
}

export function grantFacts(grant: Grant, now: number): Record<string, unknown> {
  return {
    id: grant.id,
    state: stateOf(grant, now),
    request: grant.request,
    scope: grant.scope,
    expires: grant.expires === null ? null : iso(grant.expires),
    uses: grant.uses,
    used: grant.used,
    session: grant.session,
    session_id: grant.sessionId,
    actor: grant.actor,
    why: grant.why,
    time: iso(grant.at),
    rule: grant.rule,
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
