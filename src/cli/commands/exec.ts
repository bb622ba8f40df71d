import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import { execute } from '../../up/control/exec-client.ts';

type Flags = { readonly cwd?: string; readonly json?: boolean };

export function register(program: Command): void {
  program
    .command('exec')
    .description('run a command in a session, beside its harness')
    .argument('<name>', 'as in "wraptool ps"')
    .argument('<command...>', 'the command and its arguments, after --')
    .option('--cwd <dir>', 'absolute folder inside; default: the workspace')
    .option('--json', 'errors as JSON')
    .addHelpText(
      'after',
      '\nIt runs as the harness does, with the same environment, and gets a terminal where stdin and stdout are one.\nIts exit code is the command’s; 128+n for a signal, 125 where it could not be run.\n\nExamples:\n  wraptool exec claude-app -- git status\n  wraptool exec claude-app -- bash',
    )
    .action(async (name: string, command: string[], flags: Flags) => {
      if (flags.cwd !== undefined && !flags.cwd.startsWith('/'))
        throw new WraptoolError('usage', `--cwd takes an absolute folder, not "${flags.cwd}"`, {
          hint: 'name it as it is inside; the workspace has the path that it has on the host',
        });
      process.exitCode = await execute(process.env, { name, command, cwd: flags.cwd ?? null });
    });
}
