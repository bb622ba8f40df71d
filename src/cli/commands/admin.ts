import type { Command } from 'commander';
import { configPath } from '../../config/load.ts';
import { WraptoolError } from '../../errors.ts';
import { askInvitation, findDoors, type Invitation } from '../../web/door.ts';
import { loginLimits } from '../../web/logins.ts';
import { note, printJson, printLine } from '../voice.ts';

type Flags = {
  readonly viewer?: boolean;
  readonly config?: string;
  readonly session?: string;
  readonly json?: boolean;
};

export function register(program: Command): void {
  const admin = program.command('admin').description("the operator's web page");
  admin
    .command('open')
    .description('print a link to the page that runs, good for one login')
    .option('--viewer', 'a link that can look and change nothing')
    .option('--config <file>', 'the page of a gateway with this config')
    .option('--session <name>', 'the page of this session')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nThe page runs with "wraptool up" and "wraptool serve" where the config has an "admin" block.',
    )
    .action(open);
}

async function open(flags: Flags): Promise<void> {
  const { url, role, session } = await invitation(flags);
  const minutes = loginLimits.linkLifeMs / 60_000;
  if (flags.json)
    return printJson({
      url,
      role,
      session,
      expires: new Date(Date.now() + loginLimits.linkLifeMs).toISOString(),
    });
  printLine(url);
  note(`good for one login within ${minutes} minutes (${role}); whoever opens it first is in`);
}

/** Of the newest page that is meant. */
async function invitation({ viewer, config, session }: Flags): Promise<Invitation> {
  const env = process.env;
  const wanted = config === undefined && !env['WRAPTOOL_CONFIG'] ? null : configPath({ path: config, env });
  for (const door of (await findDoors(env)).toReversed()) {
    const found = await askInvitation(door, viewer ? 'viewer' : 'operator');
    if (found === null) continue;
    if (session !== undefined && found.session !== session) continue;
    if (wanted === null || found.config === wanted || session !== undefined) return found;
  }
  throw new WraptoolError('admin_not_running', 'no page is served now that fits', {
    hint: 'write "admin: {}" into the config, then start "wraptool up" or "wraptool serve"',
  });
}
