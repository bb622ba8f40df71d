/** The one renderer of requests and grants. Whatever an agent wrote is escaped, and argv is a list. */
import type { Review } from '../requests/review.ts';
import { statusAt } from '../requests/facts.ts';
import { stateOf, type Grant, type Request } from '../requests/types.ts';
import { escapeHostile, lookAlikes, renderArgv } from './hostile.ts';
import { table } from './voice.ts';

export function requestTable(
  requests: readonly Request[],
  now: number,
  statusOf: (request: Request) => string = (request) => statusAt(request, now),
): string {
  return table([
    ['ID', 'AGE', 'SESSION', 'STATUS', 'ASKS FOR'],
    ...requests.map((request) => [
      request.id,
      ageOf(request.at, now),
      sessionOf(request),
      statusOf(request),
      cutTo(renderArgv(wordsOf(request)), 100),
    ]),
  ]);
}

/** All that an approval is bound to, for people. */
export function reviewText(review: Review, now: number): string {
  const { request, change, past } = review;
  const lines: [string, string][] = [
    ['request', `${request.id} (${statusAt(request, now)}), ${ageOf(request.at, now)} ago`],
    ['session', sessionOf(request)],
    ['client', escapeHostile(request.client)],
    [request.argv === null ? 'asks for' : 'call', renderArgv(review.call)],
    ['cwd', request.cwd === null ? 'not known' : escapeHostile(request.cwd)],
    [
      'program',
      'path' in review.binary
        ? escapeHostile(review.binary.path)
        : `none: ${escapeHostile(review.binary.problem)}`,
    ],
    ...(review.runs === null ? [] : [['would run', renderArgv(review.runs)] as [string, string]]),
    ...lookAlikes(review.call).map((word): [string, string] => [
      'beware',
      `a word of it is no plain text: "${word}"`,
    ]),
    ['why', escapeHostile(request.rationale)],
    ...(request.enables === null ? [] : [['enables', escapeHostile(request.enables)] as [string, string]]),
    ...decisionLines(request),
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return [
    ...lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    '',
    ...changeLines(review),
    ...(change.ok
      ? [
          '',
          `of the last ${past.looked} refused calls of this tool it would newly allow ${past.calls.length === 0 ? 'none' : past.calls.length}`,
          ...past.calls.map((call) => `  ${renderArgv(call)}`),
        ]
      : []),
  ].join('\n');
}

function decisionLines({ status, decision }: Request): [string, string][] {
  if (decision === null) return [];
  const how = [decision.scope, decision.grant, decision.reason].filter((part) => part !== null);
  return [
    [
      status,
      `${iso(decision.at)} by ${escapeHostile(decision.actor)}${how.length === 0 ? '' : `: ${escapeHostile(how.join(', '))}`}`,
    ],
  ];
}

function changeLines({ change, config }: Review): string[] {
  const file = escapeHostile(config.file);
  if (!change.ok) return [`it cannot be approved as it is (${change.code}): ${escapeHostile(change.why)}`];
  if (change.edited.changes.length === 0) return [`"${file}" allows it already`];
  return [
    `the rule (a grant allows what it does, --apply writes it to "${file}"):`,
    ...diffLines(change.edited.diff),
    ...change.edited.notes.map((remark) => `note: ${escapeHostile(remark)}`),
  ];
}

export function diffLines(diff: string): string[] {
  return diff.replace(/\n$/, '').split('\n').map(escapeHostile);
}

export function grantTable(grants: readonly Grant[], now: number): string {
  return table([
    ['ID', 'STATE', 'SCOPE', 'LEFT', 'SESSION', 'BY', 'ALLOWS'],
    ...grants.map((grant) => [
      grant.id,
      stateOf(grant, now),
      grant.scope,
      leftOf(grant, now),
      escapeHostile(grant.session ?? grant.sessionId ?? ''),
      escapeHostile(grant.actor),
      cutTo(renderArgv(ruleWords(grant)), 100),
    ]),
  ]);
}

function leftOf({ uses, used, expires }: Grant, now: number): string {
  if (uses !== null) return `${Math.max(0, uses - used)} of ${uses}`;
  if (expires !== null) return expires <= now ? '0s' : ageOf(now, expires);
  return '';
}

function ruleWords({ rule }: Grant): string[] {
  const { tool, subcommand, flags, exact } = rule;
  return [tool, ...(subcommand === null ? [] : subcommand.split(' ')), ...flags, ...(exact?.args ?? [])];
}

function wordsOf({ tool, subcommand, flags, args, argv }: Request): string[] {
  return [tool, ...(argv ?? [...subcommand, ...flags, ...(args ?? [])])];
}

export function sessionOf({ session, sessionId }: Pick<Request, 'session' | 'sessionId'>): string {
  if (session === null) return 'wraptool serve';
  return sessionId === null
    ? escapeHostile(session)
    : `${escapeHostile(session)} (${escapeHostile(sessionId)})`;
}

function ageOf(from: number, to: number): string {
  const seconds = Math.max(0, Math.round((to - from) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}m`;
  return `${Math.round(seconds / 3600)}h`;
}

/** A cut is said: what is behind it is for `show`. */
function cutTo(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (cut, see "show")`;
}

const iso = (ms: number): string => new Date(ms).toISOString();
