/** The files of a log folder. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';

const ending = '.jsonl';
const named = /^(\d{8}T\d{9})-\d+-[0-9a-f]{6}\.jsonl$/;

/** Names (without ending) of the folder's log files, oldest first; a missing folder has none. */
export async function logFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((name) => named.test(name))
    .toSorted()
    .map((name) => name.slice(0, -ending.length));
}

/** Path of a file given by its name without ending. */
export const pathOf = (dir: string, file: string) => path.join(dir, file + ending);
