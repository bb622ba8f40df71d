/**
 * Entries in other programs’ configs that can be taken back: for each a receipt and a copy of the file as it was before,
 * in a folder of the state folder. A file that still is what was written is given back byte for byte; one that
 * changed since only loses our entry.
 */
import fs from 'node:fs/promises';
import path from 'node:path';
import { missingContainers, removeEntry, setEntry } from './entry.ts';
import { peek, resolveTarget, textOf, updateFile, type Verdict } from './file.ts';
import { takeClaim, unlinkIfThere, type Disk } from './lock.ts';
import {
  backupFile,
  digest,
  forget,
  readBackup,
  readReceipt,
  writeKept,
  writeReceipt,
  type EntryPlace,
  type Receipt,
} from './receipts.ts';
import type { Json, Outcome, Refusal } from './types.ts';

export type Restored =
  { readonly ok: true; readonly done: 'restored' | 'entry-removed' | 'file-removed' | 'nothing' } | Refusal;

/** Writes `value` at the place and remembers in `folder` (made 0700) how to take it back. */
export function addEntry(place: EntryPlace, value: Json, folder: string, disk: Disk = fs): Promise<Outcome> {
  return alone(folder, disk, () => add(place, value, folder, disk));
}

/** Takes back what addEntry did; without a receipt there is nothing to take back. */
export function restoreEntry(place: EntryPlace, folder: string, disk: Disk = fs): Promise<Restored> {
  return alone(folder, disk, () => restore(place, folder, disk));
}

/** What restoreEntry would do, without doing it. */
export async function previewRestore(place: EntryPlace, folder: string, disk: Disk = fs): Promise<Restored> {
  const real = { ...place, file: await resolveTarget(place.file, disk) };
  const receipt = await readReceipt(real, folder, disk);
  if (receipt === null) return { ok: true, done: 'nothing' };
  const bytes = await peek(real.file, disk);
  return (await takeBack(real, receipt, bytes, folder, disk))[1];
}

/** A receipt and its file change together, whoever else adds or restores at the same time. */
async function alone<T>(folder: string, disk: Disk, work: () => Promise<T>): Promise<T> {
  await disk.mkdir(folder, { recursive: true, mode: 0o700 });
  const claim = await takeClaim(path.join(await disk.realpath(folder), 'receipts'), disk);
  try {
    return await work();
  } finally {
    await claim.release();
  }
}

async function add(place: EntryPlace, value: Json, folder: string, disk: Disk): Promise<Outcome> {
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

async function restore(place: EntryPlace, folder: string, disk: Disk): Promise<Restored> {
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
  if (base !== null && before !== null) await writeKept(backupFile(place, before, folder), base, disk);
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

function keep(done: { outcome: Outcome | null }, refusal: Refusal): null {
  done.outcome = refusal;
  return null;
}

function unreachable(): never {
  throw new Error('an edit ended without an outcome');
}
