/**
 * Entries in other programs’ configs that can be taken back: for each a receipt and a copy of the file as it was before,
 * in a folder of the state folder. A file that still is what was written is given back byte for byte; one that
 * changed since only loses our entry.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { missingContainers, removeEntry, setEntry } from './entry.ts';
import { resolveTarget, textOf, updateFile, type Verdict } from './file.ts';
import { unlinkIfThere, type Disk } from './lock.ts';
import type { Format, Grammar, Json, Outcome, Refusal } from './types.ts';

/** Which entry of which file. */
export type EntryPlace = {
  readonly file: string;
  readonly format: Format;
  readonly grammar?: Grammar;
  /** The containers’ keys and the entry’s own. */
  readonly path: readonly string[];
};

export type Receipt = {
  readonly version: 1;
  /** Real path of the edited file. */
  readonly file: string;
  readonly path: readonly string[];
  /** Containers that were made for the entry. */
  readonly made: number;
  /** SHA-256 of the file before the edit; null where there was none. */
  readonly before: string | null;
  /** SHA-256 of the file after each edit that was made on top of that. */
  readonly after: readonly string[];
};

export type Restored =
  { readonly ok: true; readonly done: 'restored' | 'entry-removed' | 'file-removed' | 'nothing' } | Refusal;

/** Writes `value` at the place and remembers in `folder` (made 0700) how to take it back. */
export async function addEntry(
  place: EntryPlace,
  value: Json,
  folder: string,
  disk: Disk = fs,
): Promise<Outcome> {
  const done: { outcome: Outcome | null } = { outcome: null };
  await updateFile(
    place.file,
    async (bytes, target) => {
      const text = bytes === null ? '' : textOf(bytes);
      if (typeof text !== 'string') return keep(done, text);
      const outcome = setEntry(place.format, text, place.path, value, place.grammar);
      done.outcome = outcome;
      if (!outcome.ok || outcome.changes.length === 0) return null;
      const written = Buffer.from(outcome.text);
      await remember({ ...place, file: target }, bytes, text, written, folder, disk);
      return { write: written };
    },
    disk,
  );
  return done.outcome ?? unreachable();
}

/** Takes back what addEntry did; without a receipt there is nothing to take back. */
export async function restoreEntry(place: EntryPlace, folder: string, disk: Disk = fs): Promise<Restored> {
  const real = { ...place, file: await resolveTarget(place.file, disk) };
  const receipt = await readReceipt(real, folder, disk);
  if (receipt === null) return { ok: true, done: 'nothing' };
  const done: { outcome: Restored | null } = { outcome: null };
  await updateFile(
    real.file,
    async (bytes) => {
      const [verdict, outcome] = await takeBack(real, receipt, bytes, folder, disk);
      done.outcome = outcome;
      return verdict;
    },
    disk,
  );
  const outcome = done.outcome ?? unreachable();
  if (outcome.ok) await forget(real, receipt, folder, disk);
  return outcome;
}

async function takeBack(
  place: EntryPlace,
  receipt: Receipt,
  bytes: Buffer | null,
  folder: string,
  disk: Disk,
): Promise<[Verdict, Restored]> {
  if (bytes === null || digest(bytes) === receipt.before) return [null, { ok: true, done: 'nothing' }];
  if (receipt.after.includes(digest(bytes))) {
    if (receipt.before === null) return [{ remove: true }, { ok: true, done: 'file-removed' }];
    return [{ write: await readBackup(place, receipt, folder, disk) }, { ok: true, done: 'restored' }];
  }
  const text = textOf(bytes);
  if (typeof text !== 'string') return [null, text];
  const outcome = removeEntry(place.format, text, place.path, receipt.made, place.grammar);
  if (!outcome.ok) return [null, outcome];
  if (outcome.changes.length === 0) return [null, { ok: true, done: 'nothing' }];
  return [{ write: Buffer.from(outcome.text) }, { ok: true, done: 'entry-removed' }];
}

/** Backup and receipt are on disk before the file changes, so that there is no moment at which it can't be taken back. */
async function remember(
  place: EntryPlace,
  bytes: Buffer | null,
  text: string,
  written: Buffer,
  folder: string,
  disk: Disk,
): Promise<void> {
  const old = await readReceipt(place, folder, disk);
  const ours = old !== null && bytes !== null && old.after.includes(digest(bytes));
  if (ours) {
    await writeReceipt({ ...old, after: [...new Set([...old.after, digest(written)])] }, folder, disk);
    return;
  }
  const base = old === null || bytes === null ? bytes : withoutOurs(place, old, bytes, text);
  const made = missingContainers(place.format, base?.toString() ?? '', place.path, place.grammar);
  const before = base === null ? null : digest(base);
  if (base !== null && before !== null) await write(backupFile(place, before, folder), base, disk);
  const receipt: Receipt = {
    version: 1,
    file: place.file,
    path: place.path,
    made,
    before,
    after: [digest(written)],
  };
  await writeReceipt(receipt, folder, disk);
  if (old !== null && old.before !== null && old.before !== before)
    await unlinkIfThere(disk, backupFile(place, old.before, folder));
}

/** What a file that its user changed since our last edit would be without our entry. */
function withoutOurs(place: EntryPlace, receipt: Receipt, bytes: Buffer, text: string): Buffer {
  if (digest(bytes) === receipt.before) return bytes;
  const outcome = removeEntry(place.format, text, place.path, receipt.made, place.grammar);
  return outcome.ok ? Buffer.from(outcome.text) : bytes;
}

function nameOf({ file, path: keys }: Pick<EntryPlace, 'file' | 'path'>): string {
  return digest(JSON.stringify([file, ...keys])).slice(0, 24);
}

function receiptFile(place: Pick<EntryPlace, 'file' | 'path'>, folder: string): string {
  return path.join(folder, `${nameOf(place)}.json`);
}

// Named by what is in it, so that a receipt never meets the backup of another one.
function backupFile(place: Pick<EntryPlace, 'file' | 'path'>, before: string, folder: string): string {
  return path.join(folder, `${nameOf(place)}-${before.slice(0, 16)}.before`);
}

async function readReceipt(place: EntryPlace, folder: string, disk: Disk): Promise<Receipt | null> {
  try {
    return JSON.parse(await disk.readFile(receiptFile(place, folder), 'utf8')) as Receipt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function readBackup(place: EntryPlace, receipt: Receipt, folder: string, disk: Disk): Promise<Buffer> {
  const backup = backupFile(place, receipt.before ?? '', folder);
  const bytes = await disk.readFile(backup);
  if (digest(bytes) === receipt.before) return bytes;
  throw new WraptoolError('edit_failed', `the backup "${backup}" is not what was saved`, {
    hint: `take the entry out of "${place.file}" by hand`,
  });
}

async function writeReceipt(receipt: Receipt, folder: string, disk: Disk): Promise<void> {
  await write(receiptFile(receipt, folder), Buffer.from(`${JSON.stringify(receipt, null, 2)}\n`), disk);
}

async function write(file: string, bytes: Buffer, disk: Disk): Promise<void> {
  await updateFile(file, () => ({ write: bytes }), disk);
}

async function forget(place: EntryPlace, receipt: Receipt, folder: string, disk: Disk): Promise<void> {
  await unlinkIfThere(disk, receiptFile(place, folder));
  if (receipt.before !== null) await unlinkIfThere(disk, backupFile(place, receipt.before, folder));
}

function keep(done: { outcome: Outcome | null }, refusal: Refusal): null {
  done.outcome = refusal;
  return null;
}

function unreachable(): never {
  throw new Error('an edit ended without an outcome');
}

function digest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
