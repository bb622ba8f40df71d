import type { Command } from 'commander';
import { listDescriptors, loadDescriptor, type Descriptor } from '../../harness/descriptor.ts';
import { registerAdd } from '../harness-add.ts';
import { registerCheck } from '../harness-check.ts';
import { registerConfig } from '../harness-config.ts';
import { registerRestore } from '../harness-restore.ts';
import { registerInstall } from '../harness-install.ts';
import { printJson, printLine, table } from '../voice.ts';

export function register(program: Command): void {
  const harness = program
    .command('harness')
    .description('harnesses: list, install, add, check, and write their own config');
  harness
    .command('list')
    .description('list the harnesses, and what each is known for')
    .option('--json', 'as JSON')
    .action(async (flags: { json?: boolean }) => {
      const all = await listDescriptors(process.env);
      if (flags.json) printJson(all.map(summary));
      else printLine(table([['NAME', 'VERSION', 'FOR', 'FROM', 'TITLE'], ...all.map(row)]));
    });
  harness
    .command('show')
    .description('print a descriptor as it is understood, defaults included')
    .argument('<name>')
    .option('--json', 'as JSON, which it is anyway')
    .action(async (name: string) =>
      printLine(JSON.stringify(await loadDescriptor(name, process.env), null, 2)),
    );
  registerInstall(harness);
  registerConfig(harness);
  registerRestore(harness);
  registerAdd(harness);
  registerCheck(harness);
}

function summary(descriptor: Descriptor): Record<string, unknown> {
  return {
    name: descriptor.name,
    title: descriptor.title,
    origin: descriptor.origin,
    file: descriptor.file,
    package: descriptor.install?.npm?.package ?? null,
    version: descriptor.install?.npm?.version ?? null,
    list_changed: descriptor.list_changed,
    up: descriptor.command.length > 0,
    config: descriptor.config !== undefined,
  };
}

function row(descriptor: Descriptor): string[] {
  return [
    descriptor.name,
    descriptor.install?.npm?.version ?? '-',
    uses(descriptor),
    descriptor.origin,
    descriptor.title,
  ];
}

/** What it is known for. */
function uses({ command, config }: Descriptor): string {
  return [...(command.length > 0 ? ['up'] : []), ...(config === undefined ? [] : ['config'])].join(', ');
}
