import type { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { WraptoolError } from '../../errors.ts';
import { listDescriptors, loadDescriptor, type Descriptor } from '../../harness/descriptor.ts';
import { provide } from '../../harness/provide.ts';
import { createStep } from '../steps.ts';
import { note, printJson, printLine, table } from '../voice.ts';

export function register(program: Command): void {
  const harness = program.command('harness').description('list, show and install harnesses');
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
  harness
    .command('install')
    .description('install a harness ahead of the first start')
    .argument('<name>')
    .option('--harness-version <version>', 'another version than the checked one')
    .option('--config <file>', 'config file')
    .option('--json', 'as JSON')
    .action(install);
}

type InstallFlags = { harnessVersion?: string; config?: string; json?: boolean };

async function install(name: string, flags: InstallFlags): Promise<void> {
  const descriptor = await loadDescriptor(name, process.env);
  const confineInstall = await confinement(flags.config);
  const ending = endOnSignals();
  const step = createStep({ quiet: process.argv.includes('--quiet') });
  const provided = await step(`harness ${name}`, (progress) =>
    provide(descriptor, {
      version: flags.harnessVersion,
      env: process.env,
      confineInstall,
      progress,
      signal: ending,
    }),
  );
  if (flags.json)
    printJson({ harness: name, version: provided?.version ?? null, dir: provided?.dir ?? null });
  else if (provided === null) note(`"${name}" needs no installation`);
  else printLine(provided.dir);
}

/** The config's own word, where there is a config; installing needs none. */
async function confinement(config: string | undefined): Promise<'auto' | 'none'> {
  try {
    return (await loadConfig({ path: config, env: process.env })).config.up.confine_install;
  } catch (error) {
    if (error instanceof WraptoolError && error.code === 'config_missing' && config === undefined)
      return 'auto';
    throw error;
  }
}

function endOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () =>
      controller.abort(new WraptoolError('harness_install_failed', `the installation was ended by ${name}`)),
    );
  return controller.signal;
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
