/** `wraptool harness restore`: out of the operator's own client config again. */
import fs from 'node:fs/promises';
import type { Command } from 'commander';
import { resolveTarget } from '../edit/file.ts';
import { keptFor, listReceipts, type EntryPlace } from '../edit/receipts.ts';
import { refusalError } from '../edit/refuse.ts';
import { previewRestore, restoreEntry } from '../edit/undo.ts';
import { WraptoolError } from '../errors.ts';
import { configOf, entryPlace, receiptsDir } from '../harness/client-config.ts';
import { loadDescriptor } from '../harness/descriptor.ts';
import { refuseAgentWritable } from './agent-writable.ts';
import { note, printJson } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

type Flags = { readonly file?: string; readonly dryRun?: boolean; readonly json?: boolean };

export function registerRestore(harness: Command): void {
  harness
    .command('restore')
    .description(
      'take back what `harness config` wrote: byte for byte, or our entry alone where the file changed since',
    )
    .argument('<name>')
    .option('--file <file>', "another file than the client's own")
    .option('--dry-run', 'say what would be taken back and leave the file alone')
    .option('--json', 'as JSON')
    .action((name: string, flags: Flags) => restore(name, flags, process.env));
}

async function restore(name: string, flags: Flags, env: Env): Promise<void> {
  const section = configOf(await loadDescriptor(name, env));
  const folder = receiptsDir(env, name);
  const place = await whichOne(name, await entryPlace(section, flags.file, env), folder, flags.file);
  await refuseAgentWritable(place.file, env);
  const outcome = await (flags.dryRun ? previewRestore : restoreEntry)(place, folder);
  if (!outcome.ok) throw refusalError(outcome, place.file);
  const { done } = outcome;
  if (flags.json) printJson({ harness: name, file: place.file, done, dry_run: flags.dryRun === true });
  else note(`"${place.file}" ${ends[done]}${flags.dryRun ? ' (this would be done)' : ''}`);
}

const ends = {
  restored: 'is byte for byte what it was before',
  'file-removed': 'is removed: it was not there before',
  'entry-removed': 'was changed since: only the entry of wraptool was taken out',
  nothing: 'holds nothing to take back',
} as const;

/** The place of our own entry, else the one that there is a receipt of: in that file, or in any where none is named. */
async function whichOne(
  name: string,
  own: EntryPlace,
  folder: string,
  file: string | undefined,
): Promise<EntryPlace> {
  if ((await keptFor(own, folder)) !== null) return own;
  const target = await resolveTarget(own.file, fs);
  const receipts = (await listReceipts(folder)).filter((one) => file === undefined || one.file === target);
  const [only] = receipts;
  if (only === undefined) return own;
  if (receipts.length === 1) return { ...own, file: only.file, path: only.path };
  throw new WraptoolError('usage', `several entries for "${name}" were written`, {
    problems: receipts.map((receipt) => `${receipt.file}: ${receipt.path.join(' > ')}`),
    hint: 'name the file of one with --file, or take them out by hand',
  });
}
