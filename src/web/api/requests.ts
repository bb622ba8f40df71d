/** Requests and grants: `wraptool requests` and `wraptool grants`, by other means. */
import { parseDuration } from '../../config/scalars.ts';
import { WraptoolError } from '../../errors.ts';
import { assertLive, endedSessions } from '../../cli/requests-desk.ts';
import type { Desk, ScopeChoice } from '../../requests/desk.ts';
import { grantFacts, requestFacts, reviewFacts, statusAt } from '../../requests/facts.ts';
import { stateOf } from '../../requests/types.ts';
import { WebRefusal } from '../refusal.ts';
import { stringOf, type Route, type Visit } from '../route.ts';
import { shorten } from '../shorten.ts';

/** What a list shows of those that wait, the oldest, and of the decided ones, the newest; all are in the log. */
const mostPending = 200;
const mostDecided = 50;

/** Pending ones, the oldest first so that none moves when another comes; then decided ones; and grants in force. */
export async function listRequests(desk: Desk): Promise<Record<string, unknown>> {
  const ledger = await desk.ledger();
  const now = Date.now();
  const all = [...ledger.requests.values()];
  const waiting = all.filter(({ status }) => status === 'pending');
  const ended = await endedSessions(ledger, waiting);
  const isPending = (request: (typeof all)[number]) =>
    statusAt(request, now) === 'pending' && !ended.has(request.sessionId ?? '');
  const pending = waiting.filter(isPending).toSorted((a, b) => a.at - b.at);
  const chosen = new Set(pending);
  const others = all
    .filter((request) => !chosen.has(request))
    .toSorted((a, b) => (b.decision?.at ?? b.at) - (a.decision?.at ?? a.at));
  const short = (request: (typeof all)[number]) => {
    const { id, time, session, client, decision } = requestFacts(request, now);
    return {
      id,
      status: request.status !== 'pending' ? request.status : chosen.has(request) ? 'pending' : 'expired',
      time,
      session,
      client,
      words: wordsOf(request),
      rationale: request.rationale,
      decision,
    };
  };
  const grants = [...ledger.grants.values()].filter((grant) => stateOf(grant, now) === 'live');
  return {
    pending: pending.slice(0, mostPending).map(short).map(shorten),
    waiting: pending.length,
    decided: others.slice(0, mostDecided).map(short).map(shorten),
    more: Math.max(0, others.length - mostDecided),
    grants: grants.map((grant) => shorten(grantFacts(grant, now))),
  };
}

function wordsOf(request: {
  tool: string;
  subcommand: readonly string[];
  flags: readonly string[];
  args: readonly string[] | null;
  argv: readonly string[] | null;
}): string[] {
  const { tool, subcommand, flags, args, argv } = request;
  return [tool, ...(argv ?? [...subcommand, ...flags, ...(args ?? [])])];
}

const byId = (visit: Visit): string => visit.parts[0] ?? '';

export const requestRoutes: readonly Route[] = [
  { method: 'GET', path: /^requests$/, action: 'requests.read', run: ({ desk }) => listRequests(desk) },
  {
    method: 'GET',
    path: /^requests\/(req_[0-9a-f]{8})$/,
    action: 'requests.read',
    run: async ({ desk }, visit) => {
      const request = await desk.request(byId(visit));
      const ended = await endedSessions(await desk.ledger(), [request]);
      try {
        const review = await desk.review(request, visit.query.get('wide') === '1');
        return { ...reviewFacts(review, Date.now()), session_ended: ended.size > 0, config_problem: null };
      } catch (error) {
        // With a config that does not load now the request can be shown, and denied, all the same.
        if (!(error instanceof WraptoolError) || error.code === 'internal') throw error;
        const problem = [error.message, ...error.problems].join('\n');
        return {
          ...requestFacts(request, Date.now()),
          session_ended: ended.size > 0,
          config_problem: problem,
        };
      }
    },
  },
  {
    method: 'POST',
    path: /^requests\/(req_[0-9a-f]{8})\/approve$/,
    action: 'requests.approve',
    run: async ({ desk }, visit) => {
      const { body } = visit;
      const choice = choiceOf(body);
      // Never without what was shown: a person decided on that.
      const shown = stringOf(body, 'digest', 64);
      const request = await desk.request(byId(visit));
      if (request.status === 'pending' && choice.scope !== 'apply') await assertLive(desk, request);
      const done = await desk.approve(request.id, { choice, wide: body['wide'] === true, shown });
      return { ...done, grant: done.grant && grantFacts(done.grant, Date.now()) };
    },
  },
  {
    method: 'POST',
    path: /^requests\/(req_[0-9a-f]{8})\/deny$/,
    action: 'requests.deny',
    run: async ({ desk }, visit) => {
      const reason = stringOf(visit.body, 'reason', 2_000);
      if (reason.trim() === '')
        throw new WraptoolError('usage', 'a reason is needed', {
          hint: 'the agent reads it, and can do better',
        });
      return requestFacts(await desk.deny(byId(visit), reason), Date.now());
    },
  },
  {
    method: 'POST',
    path: /^grants\/(grt_[0-9a-f]{8})\/revoke$/,
    action: 'grants.revoke',
    run: async ({ desk }, visit) => grantFacts(await desk.revoke(byId(visit), null), Date.now()),
  },
];

function choiceOf(body: Visit['body']): ScopeChoice {
  const { scope, uses } = body;
  if (scope === 'apply' || scope === 'once' || scope === 'session') return { scope };
  if (scope === 'uses' && Number.isInteger(uses) && Number(uses) > 0 && Number(uses) < 1_000_000)
    return { scope, uses: Number(uses) };
  const ms = scope === 'for' ? parseDuration(stringOf(body, 'for', 20)) : null;
  if (ms !== null) return { scope: 'for', ms };
  throw new WebRefusal(
    400,
    'body_invalid',
    scope === 'for'
      ? 'a time such as 30m is needed (ms, s, m, h; at most 24h)'
      : 'it is not said how far it goes',
  );
}
