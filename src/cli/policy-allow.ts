/** `wraptool policy allow`: writes a rule into the config in place; whatever is not added stays byte for byte. */
import type { Command } from 'commander';
import { configPath } from '../config/load.ts';
import { editFile } from '../edit/file.ts';
import { addAllowRule } from '../edit/policy.ts';
import { refusalError } from '../edit/refuse.ts';
import type { Edited, Outcome } from '../edit/types.ts';
import { WraptoolError } from '../errors.ts';
import { freshProblem } from '../requests/fresh-problem.ts';
import { escapeHostile } from './hostile.ts';
import { note, printError, printJson } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

type Flags = {
  readonly tool: string;
  readonly subcommand?: string;
  readonly flag: readonly string[];
  readonly config?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

export function registerAllow(policy: Command): void {
  policy
    .command('allow')
    .description('add an allow rule, or flags to one, in the config in place (exit 3 where that is refused)')
    .requiredOption('--tool <name>', 'a tool of the config')
    .option('--subcommand <words>', 'words parted by single spaces; without it, the rule of the bare tool')
    .option('--flag <name>', 'a flag with its dashes, may be repeated', collect, [])
    .option('--config <file>', 'the config file')
    .option('--dry-run', 'print the diff and leave the file alone')
    .option('--json', 'as JSON')
    .action(async (flags: Flags) => {
      process.exitCode = await allow(flags, process.env);
    });
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

/** Exit code: 0 written or nothing to write, 3 refused. */
export async function allow(flags: Flags, env: Env): Promise<number> {
  const file = configPath({ path: flags.config, env });
  const request = { tool: flags.tool, subcommand: flags.subcommand ?? null, flags: flags.flag };
  const planned: { outcome: Outcome | null } = { outcome: null };
  const edited = await editFile(file, (text) => {
    if (text === null)
      throw new WraptoolError('config_missing', `there is no config at "${file}"`, {
        hint: 'write a starter config with wraptool init, or name one with --config',
      });
    planned.outcome = addAllowRule(text, request, {
      validate: (next) => freshProblem(text, next, file, env),
    });
    const leave = flags.dryRun === true && planned.outcome.ok;
    return leave ? { ...planned.outcome, changes: [] } : planned.outcome;
  });
  const outcome = planned.outcome ?? edited;
  if (!outcome.ok) return printError(refusalError(outcome, file), { json: flags.json === true, exit: 3 });
  report(outcome, file, flags);
  return 0;
}

function report(outcome: Edited, file: string, flags: Flags): void {
  const changed = outcome.changes.length > 0;
  const dryRun = flags.dryRun === true;
  if (flags.json) {
    printJson({ file, changed, dry_run: dryRun, diff: outcome.diff, notes: outcome.notes });
    return;
  }
  process.stdout.write(outcome.diff.split('\n').map(escapeHostile).join('\n'));
  for (const remark of outcome.notes) note(remark);
  if (changed) note(dryRun ? `"${file}" was left alone` : `written to "${file}"`);
}
