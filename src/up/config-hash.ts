/** What a gateway has to say that it serves. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** sha256 (hex) of the config's bytes; null where it can't be read: then no gateway starts with it. */
export async function configHash(file: string): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}
