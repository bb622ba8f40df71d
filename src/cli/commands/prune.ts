import type { Command } from 'commander';
import { prune, type Pruned } from '../../up/prune.ts';
import { escapeHostile } from '../hostile.ts';
import { note, printJson, printLine, warn } from '../voice.ts';

type Flags = {
  readonly dryRun?: boolean;
  readonly images?: boolean;
  readonly harnesses?: boolean;
  readonly homes?: boolean;
  readonly json?: boolean;
};

export function register(program: Command): void {
  program
    .command('prune')
    .description('remove what is left over: what dead sessions left, and images that no session will use')
    .option('--images', 'all images of ours that no container uses, the current ones too')
    .option('--harnesses', 'installed versions of harnesses other than the current ones')
    .option('--homes', 'harness homes, logins included, of workspaces that are gone')
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'as JSON')
    .action(async (flags: Flags) => {
      const options = {
        dryRun: flags.dryRun ?? false,
        images: flags.images ?? false,
        harnesses: flags.harnesses ?? false,
        homes: flags.homes ?? false,
      };
      const pruned = await prune(process.env, options, ({ message, hint }) => {
        warn(hint === undefined ? message : `${message} (${hint})`);
        process.exitCode = 1;
      });
      if (flags.json) printJson({ dry_run: options.dryRun, pruned });
      else if (pruned.length === 0) note('nothing is left over');
      else for (const one of pruned) printLine(line(one, options.dryRun));
    });
}

function line({ what, bytes, removed }: Pruned, dryRun: boolean): string {
  const size = bytes === null ? '' : ` (${(bytes / 1e6).toFixed(1)} MB)`;
  const done = removed ? 'removed' : dryRun ? 'would remove' : 'not removed, it is in use or gone by now';
  return `${done}: ${escapeHostile(what)}${size}`;
}
