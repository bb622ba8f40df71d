import type { Command } from 'commander';
import { endSession } from '../../up/sessions.ts';
import { note, printJson } from '../voice.ts';

export function register(program: Command): void {
  program
    .command('down')
    .description('end a session')
    .argument('<name>', 'as in "wraptool ps"')
    .option('--json', 'as JSON')
    .action(async (name: string, flags: { json?: boolean }) => {
      const lines = await endSession(process.env, name);
      for (const line of lines) note(line);
      if (flags.json) printJson({ name, ended: true, reclaimed: lines });
      else note(`"${name}" has ended`);
    });
}
