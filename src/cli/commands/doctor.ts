import { styleText } from 'node:util';
import type { Command } from 'commander';
import { examine, isIll, type Requirement } from '../../up/doctor.ts';
import { escapeHostile } from '../hostile.ts';
import { printJson, printLine } from '../voice.ts';

type Flags = { readonly config?: string; readonly json?: boolean };

const colours = { ok: 'green', warning: 'yellow', missing: 'red' } as const;

export function register(program: Command): void {
  program
    .command('doctor')
    .description('check what wraptool needs, and say how to mend it')
    .option('--config <file>', 'config file')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nEnds with 1 where something is missing without which no session can start.')
    .action(async (flags: Flags) => {
      const requirements = await examine(process.env, { config: flags.config, cwd: process.cwd() });
      const ok = !isIll(requirements);
      if (flags.json) printJson({ ok, requirements });
      else for (const line of requirements.flatMap(text)) printLine(line);
      if (!ok) process.exitCode = 1;
    });
}

function text({ name, status, found, mend, needed_for: purpose }: Requirement): string[] {
  const mark = styleText(colours[status], status.padEnd(7), { stream: process.stdout, validateStream: true });
  const first = `${mark}  ${name.padEnd(12)}  ${escapeHostile(found)}`;
  return mend === null ? [first] : [first, `${' '.repeat(23)}for ${purpose}: ${escapeHostile(mend)}`];
}
