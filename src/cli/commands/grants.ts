import type { Command } from 'commander';
import { grantFacts } from '../../requests/facts.ts';
import { stateOf } from '../../requests/types.ts';
import { common, openDesk, openLedger, type Where } from '../requests-desk.ts';
import { grantTable } from '../requests-view.ts';
import { note, printJson, printLine } from '../voice.ts';

export function register(program: Command): void {
  const grants = program.command('grants').description('list and revoke what was granted for a while');
  common(
    grants
      .command('list', { isDefault: true })
      .description('list the grants that are in force')
      .option('--all', 'those that have ended too'),
  ).action(list);
  common(grants.command('revoke <id>').description('end a grant, by its id or that of its request'))
    .option('--reason <text>', 'why, for the log')
    .option('--dry-run', 'say which grant it would be, and leave it')
    .action(revoke);
}

async function list(flags: Where & { readonly all?: boolean }): Promise<void> {
  const ledger = await openLedger(flags);
  const now = Date.now();
  const all = [...ledger.grants.values()].toSorted((a, b) => a.at - b.at);
  const shown = flags.all ? all : all.filter((grant) => stateOf(grant, now) === 'live');
  if (flags.json) return printJson(shown.map((grant) => grantFacts(grant, now)));
  if (shown.length === 0) return note(flags.all ? 'there are no grants' : 'no grant is in force');
  printLine(grantTable(shown, now));
}

async function revoke(
  id: string,
  flags: Where & { readonly reason?: string; readonly dryRun?: boolean },
): Promise<void> {
  const { desk } = await openDesk(flags);
  const grant = flags.dryRun ? await desk.grant(id) : await desk.revoke(id, flags.reason ?? null);
  if (flags.json) printJson(grantFacts(grant, Date.now()));
  else printLine(flags.dryRun ? `would revoke ${grant.id}` : `${grant.id} revoked, effective now`);
}
