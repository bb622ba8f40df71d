import { access, constants, realpath } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

const absent = new Set(['ENOENT', 'EACCES', 'ENOTDIR', 'ELOOP']);

/**
 * Absolute path of a program on the operator's PATH, or null. Relative parts could be the workspace's, and absolute ones
 * too (`npm run` adds the workspace's own programs): nothing that really lies below one of `hostile` is taken.
 */
export async function findOnPath(
  name: string,
  searchPath: string | undefined,
  hostile: readonly string[],
): Promise<string | null> {
  for (const folder of absoluteFolders(searchPath)) {
    const path = join(folder, name);
    try {
      await access(path, constants.X_OK);
      if (!(await liesIn(path, hostile))) return path;
    } catch (error) {
      if (!absent.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return null;
}

/** The operator's PATH for a program that looks for others there by itself: without what findOnPath passes over. */
export async function trustedPath(
  searchPath: string | undefined,
  hostile: readonly string[],
): Promise<string> {
  const folders = absoluteFolders(searchPath);
  const theirs = await Promise.all(folders.map((folder) => liesIn(folder, hostile)));
  return folders.filter((_folder, index) => !theirs[index]).join(delimiter);
}

/** Whether a path is one of these folders or lies below one, as it is written or as it really is. */
export async function liesIn(path: string, folders: readonly string[]): Promise<boolean> {
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (absent.has(error.code ?? '')) return path;
    throw error;
  });
  return [path, real].some((one) => folders.some((folder) => one === folder || one.startsWith(`${folder}/`)));
}

function absoluteFolders(searchPath: string | undefined): readonly string[] {
  return (searchPath ?? '').split(delimiter).filter(isAbsolute);
}
