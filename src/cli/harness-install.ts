/** `wraptool harness install`: ahead of the first start, or what only the operator can bring. */
import type { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import { WraptoolError, type ErrorCode } from '../errors.ts';
import { assertRunnable, loadDescriptor } from '../harness/descriptor.ts';
import { bring } from '../harness/manual.ts';
import { platformOf } from '../harness/platform.ts';
import { plannedInstall, provide, type ProvideOptions } from '../harness/provide.ts';
import type { DescriptorData } from '../harness/schema.ts';
import type { Provided } from '../harness/types.ts';
import { createStep } from './steps.ts';
import { note, printJson, printLine } from './voice.ts';

type Flags = {
  readonly harnessVersion?: string;
  readonly from?: string;
  readonly os?: string;
  readonly cpu?: string;
  readonly libc?: string;
  readonly config?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

export function registerInstall(harness: Command): void {
  harness
    .command('install')
    .description('install a harness ahead of the first start')
    .argument('<name>')
    .option('--harness-version <version>', 'another version than the checked one')
    .option('--from <file>', 'the program, or its folder, for a client that npm alone cannot provide')
    .option('--os <name>', 'for another system than this one: linux, darwin')
    .option('--cpu <name>', 'for another processor: x64, arm64, …')
    .option('--libc <name>', 'for another C library: glibc, musl')
    .option('--config <file>', 'config file')
    .option('--dry-run', 'say where it would be, and install nothing')
    .option('--json', 'as JSON')
    .action(install);
}

async function install(name: string, flags: Flags): Promise<void> {
  const descriptor = await loadDescriptor(name, process.env);
  assertRunnable(descriptor);
  const options = { version: flags.harnessVersion, platform: platformOf(flags), env: process.env };
  const provided = flags.dryRun
    ? plannedInstall(descriptor, options)
    : await made(name, descriptor, options, flags);
  if (flags.json)
    printJson({ harness: name, version: provided?.version ?? null, dir: provided?.dir ?? null });
  else if (provided === null) note(`"${name}" needs no installation`);
  else printLine(provided.dir);
}

async function made(
  name: string,
  descriptor: DescriptorData,
  options: Pick<ProvideOptions, 'version' | 'platform' | 'env'>,
  flags: Flags,
): Promise<Provided | null> {
  const signal = endOnSignals('the installation');
  if (flags.from !== undefined) await bring(descriptor, flags.from, process.env, signal);
  const confineInstall = await confinement(flags.config);
  const step = createStep({ quiet: process.argv.includes('--quiet') });
  return step(`harness ${name}`, (progress) =>
    provide(descriptor, { ...options, confineInstall, progress, signal }),
  );
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
export function endOnSignals(what: string, code: ErrorCode = 'harness_install_failed'): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => controller.abort(new WraptoolError(code, `${what} was ended by ${name}`)));
  return controller.signal;
}
