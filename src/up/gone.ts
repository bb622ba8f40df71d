import { stat } from 'node:fs/promises';

/** Only what is surely not there: a folder that may not be looked at may be. */
export async function isGone(file: string): Promise<boolean> {
  try {
    await stat(file);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
