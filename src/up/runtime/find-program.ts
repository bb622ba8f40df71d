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
  for (const folder of (searchPath ?? '').split(delimiter).filter(isAbsolute)) {
    const path = join(folder, name);
    try {
      await access(path, constants.X_OK);
      const real = await realpath(path);
      if (![path, real].some((one) => hostile.some((root) => one.startsWith(`${root}/`)))) return path;
    } catch (error) {
      if (!absent.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return null;
}
