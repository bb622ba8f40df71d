/** `wraptool harness check`: does the real client, in its runtime, find its gateway? */
import type { Command } from 'commander';
import { WraptoolError } from '../errors.ts';
import { whoListed } from '../gateway/voice.ts';
import { assertRunnable, loadDescriptor } from '../harness/descriptor.ts';
import { provide } from '../harness/provide.ts';
import { programPlace } from '../places.ts';
import { checkClient, failed } from '../up/check.ts';
import { confinement, endOnSignals } from './harness-install.ts';
import { createStep } from './steps.ts';
import { escapeHostile } from './hostile.ts';
import { printJson, printLine } from './voice.ts';

type Flags = {
  readonly runtime?: string;
  readonly harnessVersion?: string;
  readonly config?: string;
  readonly timeout: string;
  readonly json?: boolean;
};

export function registerCheck(harness: Command): void {
  harness
    .command('check')
    .description('start the real client, without a key or network, and see whether it finds its gateway')
    .argument('<name>')
    .option('--runtime <name>', 'auto, devcontainer or bubblewrap')
    .option('--harness-version <version>', 'another version than the checked one')
    .option('--config <file>', 'config file, for up.confine_install')
    .option('--timeout <seconds>', 'how long it may take to find it', '120')
    .option('--json', 'as JSON')
    .action((name: string, flags: Flags) => check(name, flags));
}

async function check(name: string, flags: Flags): Promise<void> {
  const seconds = Number(flags.timeout);
  if (!/^\d{1,5}$/.test(flags.timeout) || seconds === 0)
    throw new WraptoolError('usage', `"${flags.timeout}" is no number of seconds`);
  const descriptor = await loadDescriptor(name, process.env);
  assertRunnable(descriptor);
  const confineInstall = await confinement(flags.config);
  const signal = endOnSignals('the check', 'harness_check_failed');
  const step = createStep({ quiet: process.argv.includes('--quiet') });
  const provided = await step(`harness ${name}`, (progress) =>
    provide(descriptor, {
      version: flags.harnessVersion,
      env: process.env,
      confineInstall,
      progress,
      signal,
    }),
  );
  const checked = await step(`check ${name}`, (progress) =>
    checkClient({
      descriptor,
      runtime: flags.runtime,
      version: flags.harnessVersion,
      env: process.env,
      main: programPlace('main'),
      progress,
      signal,
      whoListed,
      timeoutMs: seconds * 1000,
    }),
  );
  if (checked.listedBy === null) throw failed(name, checked);
  const version = provided?.version ?? null;
  if (flags.json) printJson({ harness: name, version, listed_by: checked.listedBy });
  else
    printLine(
      `${name} ${version ?? ''} found its gateway, as ${escapeHostile(checked.listedBy)}`.replace('  ', ' '),
    );
}
