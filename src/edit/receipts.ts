/** Where it is kept how an entry is taken back: for each place a receipt, and a copy of the file as it was before. */
import { createHash } from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { resolveTarget, updateFile } from './file.ts';
import { unlinkIfThere, type Disk } from './lock.ts';
import type { Format, Grammar } from './types.ts';

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

/** What is kept for a place: the receipt's file, and the copy of the file as it was (null: there was none). */
export type Kept = { readonly receipt: string; readonly backup: string | null };

/** Null where there is nothing to take back. */
export async function keptFor(place: EntryPlace, folder: string, disk: Disk = fs): Promise<Kept | null> {
  const real = { ...place, file: await resolveTarget(place.file, disk) };
  const receipt = await readReceipt(real, folder, disk);
  if (receipt === null) return null;
  const backup = receipt.before === null ? null : backupFile(real, receipt.before, folder);
  return { receipt: receiptFile(real, folder), backup };
}

/** Every receipt of a folder that may not be there. */
export async function listReceipts(folder: string, disk: Disk = fs): Promise<Receipt[]> {
  const found: Receipt[] = [];
  for (const name of (await namesIn(folder, disk)).filter((one) => /^[0-9a-f]{24}\.json$/.test(one)))
    found.push(JSON.parse(await disk.readFile(path.join(folder, name), 'utf8')) as Receipt);
  return found;
}

async function namesIn(folder: string, disk: Disk): Promise<string[]> {
  try {
    return (await disk.readdir(folder)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function nameOf({ file, path: keys }: Pick<EntryPlace, 'file' | 'path'>): string {
  return digest(JSON.stringify([file, ...keys])).slice(0, 24);
}

function receiptFile(place: Pick<EntryPlace, 'file' | 'path'>, folder: string): string {
  return path.join(folder, `${nameOf(place)}.json`);
}

// Named by what is in it, so that a receipt never meets the backup of another one.
export function backupFile(place: Pick<EntryPlace, 'file' | 'path'>, before: string, folder: string): string {
  return path.join(folder, `${nameOf(place)}-${before.slice(0, 16)}.before`);
}

export async function readReceipt(place: EntryPlace, folder: string, disk: Disk): Promise<Receipt | null> {
  try {
    return JSON.parse(await disk.readFile(receiptFile(place, folder), 'utf8')) as Receipt;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export async function readBackup(
  place: EntryPlace,
  receipt: Receipt,
  folder: string,
  disk: Disk,
): Promise<Buffer> {
  const backup = backupFile(place, receipt.before ?? '', folder);
  const bytes = await disk.readFile(backup);
  if (digest(bytes) === receipt.before) return bytes;
  throw new WraptoolError('edit_failed', `the backup "${backup}" is not what was saved`, {
    hint: `take the entry out of "${place.file}" by hand`,
  });
}

export async function writeReceipt(receipt: Receipt, folder: string, disk: Disk): Promise<void> {
  await writeKept(receiptFile(receipt, folder), Buffer.from(`${JSON.stringify(receipt, null, 2)}\n`), disk);
}

export async function writeKept(file: string, bytes: Buffer, disk: Disk): Promise<void> {
  await updateFile(file, () => ({ write: bytes }), disk);
}

export async function forget(place: EntryPlace, receipt: Receipt, folder: string, disk: Disk): Promise<void> {
  await unlinkIfThere(disk, receiptFile(place, folder));
  if (receipt.before !== null) await unlinkIfThere(disk, backupFile(place, receipt.before, folder));
}

export function digest(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
