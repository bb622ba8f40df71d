/** `wraptool harness add`: a client that wraptool has never heard of, from one file. */
import type { Command } from 'commander';
import { addDescriptor } from '../harness/add.ts';
import type { DescriptorData } from '../harness/schema.ts';
import { renderArgv } from './hostile.ts';
import { note, printJson } from './voice.ts';

type Flags = {
  readonly from: string;
  readonly replace?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

export function registerAdd(harness: Command): void {
  harness
    .command('add')
    .description('check a descriptor and take it in: afterwards `wraptool up NAME` starts it')
    .argument('<name>')
    .requiredOption('--from <file>', 'the descriptor, see docs/harnesses.md')
    .option('--replace', 'in place of another one that was added under that name')
    .option('--dry-run', 'check it and take nothing in')
    .option('--json', 'as JSON')
    .action(async (name: string, flags: Flags) => {
      const dryRun = flags.dryRun === true;
      const { descriptor, file, changed } = await addDescriptor({
        name,
        from: flags.from,
        replace: flags.replace === true,
        dryRun,
        env: process.env,
      });
      if (flags.json)
        return printJson({ harness: name, file, changed, dry_run: dryRun, ...summary(descriptor) });
      if (!changed) note(`"${file}" is that very descriptor`);
      else note(dryRun ? `it would be taken in as "${file}"` : `taken in as "${file}"`);
      note(sentence(descriptor));
    });
}

function summary({ command, install }: DescriptorData): Record<string, unknown> {
  return { command, package: install?.npm?.package ?? null, scripts: install?.npm?.scripts ?? [] };
}

/** What it makes wraptool do, in one line. */
function sentence({ name, command, install }: DescriptorData): string {
  if (command.length === 0) return `it is for "wraptool harness config ${name}" alone`;
  const npm = install?.npm;
  const scripts =
    npm === undefined || npm.scripts.length === 0
      ? ''
      : `, with the install scripts of ${npm.scripts.join(', ')}`;
  const first = npm === undefined ? '' : `installs ${npm.package} ${npm.version}${scripts} and `;
  return `"wraptool up ${name}" ${first}runs ${renderArgv(command)}`;
}
