/**
 * Writing into the harness HOME. What lies there is hostile, and a session beside ours may change it at any moment:
 * every step goes from a directory that is already open (through /proc/self/fd) and follows no link.
 */
import { constants } from 'node:fs';
import { chmod, chown, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { mergeText } from './formats.ts';
import type { InjectedFile } from './types.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** What is there and larger than this is not merged but set aside. */
const largest = 16 * 1024 * 1024;

export type Owner = { readonly uid: number; readonly gid: number };

/**
 * Writes the files with `where: home` below `homeDir`, which is made (0700) if missing: data merged into what is there,
 * text whole; mode 0600, all owned by `owner`. Returns remarks for the operator.
 * Error: home_unsafe where a link, or something that is not a file or a folder, is in the way.
 */
export async function writeHome(
  homeDir: string,
  files: readonly InjectedFile[],
  owner: Owner,
): Promise<string[]> {
  const notes: string[] = [];
  await using home = await openHome(homeDir, owner);
  for (const file of files.filter((one) => one.where === 'home')) {
    const parts = file.path.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..'))
      throw new WraptoolError('internal', `"${file.path}" is not a path below the harness HOME`);
    await using folder = await descend(home, parts.slice(0, -1), homeDir, owner);
    notes.push(...(await writeOne(folder, parts.at(-1) ?? '', file, path.join(homeDir, file.path), owner)));
  }
  return notes;
}

async function openHome(homeDir: string, owner: Owner): Promise<FileHandle> {
  const made = await mkdir(homeDir, { recursive: true, mode: 0o700 });
  if (made !== undefined) await give(homeDir, owner);
  return openFolder(homeDir, homeDir);
}

async function give(folder: string, owner: Owner): Promise<void> {
  await chmod(folder, 0o700);
  if (process.getuid?.() === 0) await chown(folder, owner.uid, owner.gid);
}

async function openFolder(at: string, shown: string): Promise<FileHandle> {
  try {
    return await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw unsafe(shown, 'is not a folder of its own but a link or a file');
    throw error;
  }
}

/** Opens folder after folder, making what is missing. The caller closes the result, which is never `home` itself. */
async function descend(
  home: FileHandle,
  parts: readonly string[],
  homeDir: string,
  owner: Owner,
): Promise<FileHandle> {
  let folder = await open(below(home, '.'), O_RDONLY | O_DIRECTORY);
  let shown = homeDir;
  for (const part of parts) {
    shown = path.join(shown, part);
    await using parent = folder;
    folder = await enter(parent, part, shown, owner);
  }
  return folder;
}

async function enter(parent: FileHandle, name: string, shown: string, owner: Owner): Promise<FileHandle> {
  const made = await mkdir(below(parent, name), { mode: 0o700 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
  const folder = await openFolder(below(parent, name), shown);
  if (made && process.getuid?.() === 0) await folder.chown(owner.uid, owner.gid);
  return folder;
}

function below(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

async function writeOne(
  folder: FileHandle,
  name: string,
  file: InjectedFile,
  shown: string,
  owner: Owner,
): Promise<string[]> {
  const there = await readThere(folder, name, shown);
  const notes: string[] = [];
  let content = file.content;
  if (file.format !== 'text' && there !== null) {
    const merged = mergeText(file.format, there, file.content);
    if (merged === null) {
      await rename(below(folder, name), below(folder, `${name}.unreadable`));
      const format = file.format.toUpperCase();
      notes.push(`"${shown}" was not ${format} that can be merged: set aside as "${name}.unreadable"`);
    } else content = merged;
  }
  if (there !== content || notes.length > 0) await replace(folder, name, content, owner);
  return notes;
}

/** The text of a file, null when there is none; larger or binary content is given as text that no merge accepts. */
async function readThere(folder: FileHandle, name: string, shown: string): Promise<string | null> {
  let handle: FileHandle;
  try {
    // O_NONBLOCK: opening a FIFO must not hang.
    handle = await open(below(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP' || code === 'ENXIO') throw unsafe(shown, 'is a link or no regular file');
    if (code === 'EACCES') throw unsafe(shown, 'cannot be read');
    throw error;
  }
  await using file = handle;
  const facts = await file.stat();
  if (!facts.isFile()) throw unsafe(shown, 'is no regular file');
  if (facts.nlink > 1) throw unsafe(shown, 'has a second name (hard link)');
  if (facts.size > largest) return '';
  // Room for what it may grow by meanwhile; filled to the brim it counts as too large.
  const bytes = Buffer.alloc(facts.size + 65_536);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    length += bytesRead;
    if (bytesRead === 0) break;
  }
  return length === bytes.length ? '' : bytes.toString('utf8', 0, length);
}

async function replace(folder: FileHandle, name: string, content: string, owner: Owner): Promise<void> {
  const aside = below(folder, `.${name}.${randomBytes(8).toString('hex')}`);
  try {
    await using file = await open(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    if (process.getuid?.() === 0) await file.chown(owner.uid, owner.gid);
    await file.writeFile(content);
    await rename(aside, below(folder, name));
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}

function unsafe(shown: string, what: string): WraptoolError {
  return new WraptoolError('home_unsafe', `"${shown}" in the harness HOME ${what}`, {
    hint: 'something that ran in a session made it: look at it and remove it, or start with another HOME (--home NAME)',
  });
}
