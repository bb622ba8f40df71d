/** Gives argv to commander, with the one command that it asks for. */
import { Command, CommanderError } from 'commander';
import { WraptoolError } from '../errors.ts';
import { firstPage } from './help.ts';
import type { Entry } from './table.ts';
import { version } from './version.ts';

/** Runs the command, or shows the first page where there is none. Throws `usage` for what commander refuses. */
export async function parse(argv: readonly string[], entry: Entry | null, hint: string): Promise<void> {
  const program = bare();
  if (entry) (await entry.load()).register(program);
  inheritOutput(program);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    if (!entry) process.stdout.write(firstPage());
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    if (error.code === 'commander.help')
      throw new WraptoolError('usage', 'a subcommand is missing', { hint });
    const message = error.message
      .replace(/^error: /, '')
      .replace(/\n\((Did you mean .*\?)\)$/, '. $1')
      .replaceAll("'", '"');
    throw new WraptoolError('usage', message, { hint });
  }
}

function bare(): Command {
  const program = new Command('wraptool')
    .option('--quiet', 'say nothing but errors')
    .option('--verbose', 'say more')
    .version(version(), '-V, --version')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  program.helpInformation = firstPage;
  return program;
}

/** Subcommands made by `register` share the program's way of ending and of speaking. */
function inheritOutput(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride().configureOutput({ writeErr: () => undefined });
    inheritOutput(child);
  }
}
