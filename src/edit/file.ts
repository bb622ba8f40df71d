/**
 * Changing a file of the operator so that it is the old one or the new one at every moment, whatever dies. For trusted
 * folders only: what an agent can write to is never edited this way.
 */
import { constants, type Stats } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { takeClaim, unlinkIfThere, type Disk } from './lock.ts';
import { refusing } from './refuse.ts';
import { decode } from './splice.ts';
import type { Outcome, Refusal } from './types.ts';

/** What is to become of a file: new bytes, nothing at all, or null to leave it. */
export type Verdict = { readonly write: Uint8Array } | { readonly remove: true } | null;

type Current = { readonly bytes: Buffer; readonly stats: Stats };

const attempts = 10;
const largest = 16 * 1024 * 1024;
const longestChain = 40;

/**
 * Runs `decide` on the file’s bytes (null: no file) under an exclusive claim and does what it says, in one step. If
 * another program changed the file meanwhile, `decide` runs again on what that one wrote. A symbolic link stays, mode
 * and owner stay, a new file has mode 0600 from its first byte. Resolves with the real path.
 */
export async function updateFile(
  file: string,
  decide: (bytes: Buffer | null, target: string) => Verdict | Promise<Verdict>,
  disk: Disk = fs,
): Promise<string> {
  const progress = { committed: false };
  try {
    const target = await resolveTarget(file, disk);
    await disk.mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    const claim = await takeClaim(target, disk);
    try {
      for (let left = attempts; left > 0; left -= 1) {
        if ((await resolveTarget(file, disk)) !== target) break;
        if (await attempt(target, claim.temporary, decide, disk, progress)) return target;
      }
    } finally {
      await claim.release();
    }
  } catch (error) {
    throw error instanceof WraptoolError ? error : failure(file, error, progress.committed);
  }
  throw new WraptoolError('edit_conflict', `"${file}" keeps changing while it is edited`, {
    hint: 'close what else writes to it, then try again',
  });
}

/** As updateFile, for text: `edit` gets the file’s text (null: no file). A refusal leaves the file untouched. */
export async function editFile(
  file: string,
  edit: (text: string | null) => Outcome,
  disk: Disk = fs,
): Promise<Outcome> {
  const done: { outcome: Outcome | null } = { outcome: null };
  await updateFile(
    file,
    (bytes) => {
      const text = bytes === null ? null : textOf(bytes);
      const outcome = text !== null && typeof text !== 'string' ? text : edit(text);
      done.outcome = outcome;
      return outcome.ok && outcome.changes.length > 0 ? { write: Buffer.from(outcome.text) } : null;
    },
    disk,
  );
  if (done.outcome === null) throw new Error('an edit ended without an outcome');
  return done.outcome;
}

/** The text of a file’s bytes, byte order mark included. */
export function textOf(bytes: Uint8Array): string | Refusal {
  return refusing('', () => decode(bytes));
}

/** The file's bytes as an edit would find them, without one; null where there is no file. */
export async function peek(file: string, disk: Disk = fs): Promise<Buffer | null> {
  try {
    return (await read(await resolveTarget(file, disk), disk))?.bytes ?? null;
  } catch (error) {
    throw error instanceof WraptoolError ? error : failure(file, error, false);
  }
}

/** One read, decide, write. False where the file changed in between. */
async function attempt(
  target: string,
  temporary: string,
  decide: (bytes: Buffer | null, target: string) => Verdict | Promise<Verdict>,
  disk: Disk,
  progress: { committed: boolean },
): Promise<boolean> {
  const before = await read(target, disk);
  const verdict = await decide(before?.bytes ?? null, target);
  if (verdict === null || ('remove' in verdict && before === null)) return true;
  if (before !== null && (before.stats.mode & 0o222) === 0)
    throw new WraptoolError('edit_failed', `"${target}" is read-only`, { hint: '`chmod u+w` it first' });
  if ('remove' in verdict) {
    if (!same(before, await read(target, disk))) return false;
    await disk.unlink(target);
    progress.committed = true;
  } else {
    try {
      await writeNew(temporary, verdict.write, before?.stats ?? null, disk);
      if (!same(before, await read(target, disk))) return false;
      if (!(await commit(temporary, target, before, disk))) return false;
      progress.committed = true;
    } finally {
      await unlinkIfThere(disk, temporary);
    }
  }
  await syncFolder(path.dirname(target), disk);
  return true;
}

/** Puts the new file in place; false where one has appeared that wasn’t there. */
async function commit(
  temporary: string,
  target: string,
  before: Current | null,
  disk: Disk,
): Promise<boolean> {
  if (before !== null) {
    await disk.rename(temporary, target);
    return true;
  }
  try {
    await disk.link(temporary, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

async function writeNew(file: string, bytes: Uint8Array, like: Stats | null, disk: Disk): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await disk.open(file, flags, 0o600);
  try {
    if (like !== null) await dress(handle, like);
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Owner first: it takes away bits of the mode. */
async function dress(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid);
  if ((now.mode & 0o7777) !== (mode & 0o7777)) await handle.chmod(mode & 0o7777);
}

async function read(target: string, disk: Disk): Promise<Current | null> {
  let handle: FileHandle;
  try {
    handle = await disk.open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new WraptoolError('edit_failed', `"${target}" is not a regular file`);
    if (stats.size > largest) throw new WraptoolError('edit_failed', `"${target}" is larger than 16 MiB`);
    return { bytes: await handle.readFile(), stats };
  } finally {
    await handle.close();
  }
}

function same(one: Current | null, other: Current | null): boolean {
  if (one === null || other === null) return one === other;
  const [a, b] = [one.stats, other.stats];
  return (
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.mode === b.mode &&
    a.uid === b.uid &&
    a.gid === b.gid &&
    one.bytes.equals(other.bytes)
  );
}

/** Where the links lead: the real path of a file that is there or is yet to be made. */
export async function resolveTarget(file: string, disk: Disk): Promise<string> {
  let current = path.resolve(file);
  for (let left = longestChain; left > 0; left -= 1) {
    const folder = await realFolder(path.dirname(current), disk);
    current = path.join(folder, path.basename(current));
    try {
      current = path.resolve(folder, await disk.readlink(current));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EINVAL' || code === 'ENOENT') return current;
      throw error;
    }
  }
  throw new WraptoolError('edit_failed', `"${file}" is a link in a circle`);
}

async function realFolder(folder: string, disk: Disk): Promise<string> {
  try {
    return await disk.realpath(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return path.join(await realFolder(path.dirname(folder), disk), path.basename(folder));
  }
}

/** Makes a rename last; some file systems have no such thing for folders. */
async function syncFolder(folder: string, disk: Disk): Promise<void> {
  const handle = await disk.open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  } finally {
    await handle.close();
  }
}

const hints: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: make room',
  EDQUOT: 'your quota is used up: make room',
  EROFS: 'the file system is mounted read-only',
  EACCES: 'you may not write there',
  EPERM: 'you may not write there, or not as the file’s owner',
};

function failure(file: string, error: unknown, committed: boolean): WraptoolError {
  const { code, message } = error as NodeJS.ErrnoException;
  const what = committed ? 'was edited, but that may not last' : 'could not be edited and is as it was';
  return new WraptoolError('edit_failed', `"${file}" ${what}: ${message}`, {
    hint: hints[code ?? ''] ?? 'look at the disk and the folder’s permissions',
    cause: error,
  });
}
