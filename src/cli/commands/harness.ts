import type { Command } from 'commander';
import { listDescriptors, loadDescriptor, type Descriptor } from '../../harness/descriptor.ts';
import { registerAdd } from '../harness-add.ts';
import { registerCheck } from '../harness-check.ts';
import { registerConfig } from '../harness-config.ts';
import { registerInstall } from '../harness-install.ts';
import { printJson, printLine, table } from '../voice.ts';

export function register(program: Command): void {
  const harness = program
    .command('harness')
    .description('harnesses: list, install, add, check, and write their own config');
  harness
    .command('list')
    .description('list the harnesses that can be started')
    .option('--json', 'as JSON')
    .action(async (flags: { json?: boolean }) => {
      const all = await listDescriptors(process.env);
      if (flags.json) printJson(all.map(summary));
      else printLine(table([['NAME', 'VERSION', 'FROM', 'TITLE'], ...all.map(row)]));
    });
  harness
    .command('show')
    .description('print a descriptor as it is understood, defaults included')
    .argument('<name>')
    .action(async (name: string) =>
      printLine(JSON.stringify(await loadDescriptor(name, process.env), null, 2)),
    );
  registerInstall(harness);
  registerConfig(harness);
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
  };
}

function row(descriptor: Descriptor): string[] {
  return [descriptor.name, descriptor.install?.npm?.version ?? '-', descriptor.origin, descriptor.title];
}
