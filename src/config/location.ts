/** Whether a file is the operator's alone: nobody else can write it, its folders, or the links on the way. */
import { constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';

const writableByOthers = constants.S_IWGRP | constants.S_IWOTH;
const sticky = 0o1000;
const maxLinks = 40;

/** At once: a way through the threads for each step would take longer than `exec` may. */
function look(file: string): Stats | null {
  try {
    return lstatSync(file);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/**
 * Walks from the root to the file, through every link. What is not there yet ends the walk: its folder decides.
 * @throws WraptoolError unsafe_location
 */
export async function assertOperatorsOwn(file: string, what: string): Promise<void> {
  const trusted = new Set([0, process.geteuid?.() ?? 0]);
  const pending = segments(path.resolve(file));
  let here = '/';
  let folder = look(here);
  let links = 0;
  while (pending.length > 0 && folder !== null) {
    const name = pending.shift() ?? '';
    if (name === '..') {
      here = path.dirname(here);
      folder = look(here);
      continue;
    }
    const next = path.join(here, name);
    const stats = look(next);
    refuseFolder(here, folder, stats, trusted, what, file);
    if (stats?.isSymbolicLink()) {
      if (++links > maxLinks)
        throw unsafe(what, file, `there are too many links on the way`, `remove the loop of links`);
      const target = readlinkSync(next);
      pending.unshift(...segments(target));
      if (target.startsWith('/')) {
        here = '/';
        folder = look(here);
      }
      continue;
    }
    here = next;
    folder = stats;
  }
  if (folder !== null) refuseEntry(here, folder, trusted, what, file);
}

function segments(file: string): string[] {
  return file.split('/').filter((part) => part !== '' && part !== '.');
}

/** Who can write a folder can replace what lies in it, unless it is sticky and the entry is somebody's we trust. */
function refuseFolder(
  folder: string,
  stats: Stats,
  entry: Stats | null,
  trusted: ReadonlySet<number>,
  what: string,
  file: string,
): void {
  const shielded = (Number(stats.mode) & sticky) !== 0 && entry !== null && trusted.has(Number(entry.uid));
  if (shielded && trusted.has(Number(stats.uid))) return;
  refuseEntry(folder, stats, trusted, what, file);
}

function refuseEntry(
  entry: string,
  stats: Stats,
  trusted: ReadonlySet<number>,
  what: string,
  file: string,
): void {
  const mode = Number(stats.mode);
  if (!trusted.has(Number(stats.uid)))
    throw unsafe(
      what,
      file,
      `"${entry}" belongs to user ${stats.uid}`,
      `chown root "${entry}", or move the ${what} elsewhere`,
    );
  if ((mode & writableByOthers) === 0) return;
  const who = mode & constants.S_IWOTH ? 'everybody' : `group ${stats.gid}`;
  throw unsafe(what, file, `${who} can write "${entry}"`, `chmod go-w "${entry}"`);
}

function unsafe(what: string, file: string, why: string, hint: string): WraptoolError {
  return new WraptoolError('unsafe_location', `the ${what} "${file}" is not the operator's alone: ${why}`, {
    hint,
  });
}

/** The real path; of what is not there yet, that of the nearest folder that is, and the rest. */
export async function realLocation(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    const parent = path.dirname(file);
    if (parent === file) return file;
    return path.join(await realLocation(parent), path.basename(file));
  }
}

/**
 * Refuses a file inside a folder that an agent can write.
 * @throws WraptoolError unsafe_location
 */
export async function assertOutside(file: string, zones: readonly string[], what: string): Promise<void> {
  const real = await realLocation(file);
  for (const zone of zones) {
    const root = await realLocation(zone);
    if (real === root || real.startsWith(root === '/' ? '/' : `${root}/`))
      throw new WraptoolError(
        'unsafe_location',
        `the ${what} "${file}" lies inside "${zone}", where an agent can write`,
        {
          hint: `move the ${what} out of "${zone}"`,
        },
      );
  }
}
