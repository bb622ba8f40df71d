import { watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import type { Approval, Desk, ScopeChoice } from '../../requests/desk.ts';
import { requestFacts, reviewFacts, statusAt } from '../../requests/facts.ts';
import { isExpired, type Request } from '../../requests/types.ts';
import { callAttention } from '../attention.ts';
import { escapeHostile } from '../hostile.ts';
import {
  assertLive,
  endedSessions,
  common,
  openDesk,
  openLedger,
  scopeOf,
  type ScopeFlags,
  type Where,
} from '../requests-desk.ts';
import { diffLines, requestTable, reviewText } from '../requests-view.ts';
import { note, printError, printJson, printLine, warn } from '../voice.ts';

type ApproveFlags = Where &
  ScopeFlags & {
    readonly wide?: boolean;
    readonly dryRun?: boolean;
    readonly yes?: boolean;
    readonly digest?: string;
  };

export function register(program: Command): void {
  const requests = program.command('requests').description('review what agents ask for');
  common(
    requests
      .command('list', { isDefault: true })
      .description('list the requests that wait for a decision')
      .option('--all', 'those that were decided or have expired too'),
  ).action(list);
  common(requests.command('show <id>').description('show one request, and what approving it would change'))
    .option('--wide', 'as approve --wide would')
    .action(show);
  common(requests.command('approve <id>').description('allow what is asked for; without a scope, once'))
    .option('--apply', 'for good: write the rule into the config')
    .option('--once', 'for one call of that session')
    .option('--uses <n>', 'for so many calls of that session')
    .option('--for <duration>', 'for so long, such as 30m, in that session')
    .option('--session', 'until that session ends')
    .option('--wide', 'leave values and arguments open that the refused call had')
    .option('--digest <sha256>', 'only if it still is what "show --json" showed with this digest')
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--yes', 'do not ask')
    .action(async (id: string, flags: ApproveFlags) => {
      process.exitCode = await approve(id, flags);
    });
  common(
    requests
      .command('deny <id>')
      .description('refuse what is asked for; the agent reads the reason')
      .requiredOption('--reason <text>', 'why'),
  ).action(deny);
  common(requests.command('follow').description('show requests as they come, until interrupted')).action(
    follow,
  );
}

async function list(flags: Where & { readonly all?: boolean }): Promise<void> {
  const ledger = await openLedger(flags);
  const now = Date.now();
  const all = [...ledger.requests.values()].toSorted((a, b) => a.at - b.at);
  const ended = await endedSessions(ledger, all);
  const statusOf = (request: Request) =>
    ended.has(request.sessionId ?? '') && request.status === 'pending' ? 'expired' : statusAt(request, now);
  const pending = all.filter((request) => statusOf(request) === 'pending');
  const shown = flags.all ? [...pending, ...all.filter((request) => !pending.includes(request))] : pending;
  if (flags.json)
    return printJson(shown.map((request) => ({ ...requestFacts(request, now), status: statusOf(request) })));
  if (shown.length === 0) return note(flags.all ? 'there are no requests' : 'no request is pending');
  printLine(requestTable(shown, now, statusOf));
}

async function show(id: string, flags: Where & { readonly wide?: boolean }): Promise<void> {
  const { desk } = await openDesk(flags);
  const review = await desk.review(await desk.request(id), flags.wide === true);
  if (flags.json) printJson(reviewFacts(review, Date.now()));
  else printLine(reviewText(review, Date.now()));
}

/** Exit code: 0 approved (or shown, with --dry-run), 3 refused. */
async function approve(id: string, flags: ApproveFlags): Promise<number> {
  const { desk } = await openDesk(flags);
  const request = await desk.request(id);
  const given = scopeOf(flags);
  if (flags.dryRun) return dryRun(desk, request, given, flags);
  if (given !== null && given.scope !== 'apply') await assertLive(desk, request);
  const { askScope, onTerminal } = await import('../requests-ask.ts');
  if (flags.yes || flags.digest !== undefined || !onTerminal()) {
    const choice = given ?? { scope: 'once' };
    if (choice.scope !== 'apply') await assertLive(desk, request);
    const options = { choice, wide: flags.wide === true, shown: flags.digest ?? null };
    report(await desk.approve(request.id, options), flags);
    return 0;
  }
  return approveShown(desk, request, () => askScope(given), flags);
}

/** What was shown is what is approved: if it changed meanwhile it is shown again. */
async function approveShown(
  desk: Desk,
  request: Request,
  ask: () => Promise<ScopeChoice>,
  flags: ApproveFlags,
): Promise<number> {
  const wide = flags.wide === true;
  for (;;) {
    const review = await desk.review(await desk.request(request.id), wide);
    printLine(reviewText(review, Date.now()));
    if (!review.change.ok || review.request.status !== 'pending')
      return printError(refused(review), { json: false });
    const choice = await ask();
    if (choice.scope !== 'apply') await assertLive(desk, request);
    try {
      report(await desk.approve(request.id, { choice, wide, shown: review.digest }), flags);
      return 0;
    } catch (error) {
      if (!(error instanceof WraptoolError) || error.code !== 'request_stale') throw error;
      warn(`request_stale: ${error.message}; this is how it is now:`);
    }
  }
}

type Reviewed = Awaited<ReturnType<Desk['review']>>;

function refused({ change, request }: Reviewed): WraptoolError {
  if (request.status !== 'pending')
    return new WraptoolError('request_decided', `the request "${request.id}" was ${request.status} already`);
  const { code, why } = change as Extract<typeof change, { ok: false }>;
  return new WraptoolError(code, why);
}

async function dryRun(
  desk: Desk,
  request: Request,
  given: ScopeChoice | null,
  flags: ApproveFlags,
): Promise<number> {
  const review = await desk.review(request, flags.wide === true);
  const scope = given?.scope ?? 'once';
  if (!review.change.ok || request.status !== 'pending')
    return printError(refused(review), { json: flags.json === true });
  if (flags.json)
    printJson({ ...reviewFacts(review, Date.now()), scope, dry_run: true, diff: review.change.edited.diff });
  else if (scope === 'apply') {
    printLine(diffLines(review.change.edited.diff).join('\n'));
    for (const remark of review.change.edited.notes) note(remark);
  } else printLine(reviewText(review, Date.now()));
  note(`dry run: "${request.id}" is as it was`);
  return 0;
}

function report(approval: Approval, flags: Where): void {
  const { id, scope, grant, verdict, reason, gateway } = approval;
  if (flags.json) {
    printJson({
      id,
      status: 'approved',
      scope,
      grant: grant?.id ?? null,
      expires: grant?.expires == null ? null : new Date(grant.expires).toISOString(),
      uses: grant?.uses ?? null,
      file: scope === 'apply' ? approval.file : null,
      changed: approval.changed,
      diff: approval.diff,
      notes: approval.notes,
      verdict,
      reason_code: reason,
      gateway,
    });
    return;
  }
  if (scope === 'apply') {
    if (approval.diff !== '') printLine(diffLines(approval.diff).join('\n'));
    note(approval.changed ? `written to "${approval.file}"` : `"${approval.file}" allowed it already`);
  } else
    note(
      `granted: ${grant?.id ?? ''} (${scope}); take it back with "wraptool grants revoke ${grant?.id ?? ''}"`,
    );
  for (const remark of approval.notes) note(remark);
  printLine(
    `${id} approved: the request is ${verdict === 'allow' ? 'allowed' : `still denied (${reason ?? ''})`}, ${inForce[gateway]}`,
  );
}

const inForce: Readonly<Record<Approval['gateway'], string>> = {
  'in force': 'effective now',
  'not yet': 'effective when the running gateway has read the config',
  'not running': 'effective when its gateway runs',
};

async function deny(id: string, flags: Where & { readonly reason: string }): Promise<void> {
  if (flags.reason.trim() === '')
    throw new WraptoolError('usage', 'a reason is needed', { hint: 'the agent reads it, and can do better' });
  const { desk } = await openDesk(flags);
  const request = await desk.deny((await desk.request(id)).id, flags.reason);
  if (flags.json) printJson(requestFacts(request, Date.now()));
  else printLine(`${request.id} denied: ${escapeHostile(flags.reason)}`);
}

/** Each pending request once, those that are there first. */
async function follow(flags: Where): Promise<void> {
  const { desk, dir } = await openDesk(flags);
  // Whoever follows may be there before the first gateway.
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    for (const request of (await desk.ledger()).requests.values()) {
      if (seen.has(request.id) || request.status !== 'pending') continue;
      seen.add(request.id);
      if (isExpired(request, Date.now())) continue;
      if (flags.json) printJson(requestFacts(request, Date.now()));
      else printLine(`${await described(desk, request)}\n`);
      callAttention(process.stderr, request.id);
    }
  };
  let looking = look();
  await new Promise<never>((_, reject) => {
    const next = () => {
      looking = looking.then(look);
      looking.catch(reject);
    };
    watch(dir, next).on('error', reject);
    // What was written between the first look and the watch.
    next();
  });
}

/** With a config that does not load now the request itself can be shown all the same. */
async function described(desk: Desk, request: Request): Promise<string> {
  try {
    return reviewText(await desk.review(request, false), Date.now());
  } catch (error) {
    if (!(error instanceof WraptoolError) || error.code === 'internal') throw error;
    warn(error.message);
    return requestTable([request], Date.now());
  }
}
