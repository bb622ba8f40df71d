/** `wraptool harness install`: ahead of the first start, or what only the operator can bring. */
import type { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import { WraptoolError } from '../errors.ts';
import { assertRunnable, loadDescriptor } from '../harness/descriptor.ts';
import { provide } from '../harness/provide.ts';
import { createStep } from './steps.ts';
import { note, printJson, printLine } from './voice.ts';

type Flags = { readonly harnessVersion?: string; readonly config?: string; readonly json?: boolean };

export function registerInstall(harness: Command): void {
  harness
    .command('install')
    .description('install a harness ahead of the first start')
    .argument('<name>')
    .option('--harness-version <version>', 'another version than the checked one')
    .option('--config <file>', 'config file')
    .option('--json', 'as JSON')
    .action(install);
}

async function install(name: string, flags: Flags): Promise<void> {
  const descriptor = await loadDescriptor(name, process.env);
  assertRunnable(descriptor);
  const confineInstall = await confinement(flags.config);
  const ending = endOnSignals('the installation');
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
export async function confinement(config: string | undefined): Promise<'auto' | 'none'> {
  try {
    return (await loadConfig({ path: config, env: process.env })).config.up.confine_install;
  } catch (error) {
    if (error instanceof WraptoolError && error.code === 'config_missing' && config === undefined)
      return 'auto';
    throw error;
  }
}

/** `what` is named in the error that ends it. */
export function endOnSignals(what: string): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () =>
      controller.abort(new WraptoolError('harness_install_failed', `${what} was ended by ${name}`)),
    );
  return controller.signal;
}
