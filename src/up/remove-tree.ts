import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { program } from '../confine/program.ts';
import { WraptoolError } from '../errors.ts';

/**
 * Removes a folder that an agent wrote. The system's `rm` goes from one opened folder to the next, where Node goes by paths:
 * no link that takes a folder's place is followed, and no path is too long. Error: not_removed.
 */
export async function removeTree(dir: string): Promise<void> {
  try {
    const options = { env: { LC_ALL: 'C' }, cwd: '/' };
    await promisify(execFile)(program('rm'), ['-rf', '--one-file-system', '--', dir], options);
  } catch (error) {
    if (error instanceof WraptoolError) throw error;
    const said = (error as { stderr?: string }).stderr?.trim().split('\n')[0] ?? '';
    throw new WraptoolError('not_removed', `"${dir}" could not be removed: ${said}`, {
      hint: `look at who owns it and at its modes: chmod -R u+rwX "${dir}" gives you the right`,
      cause: error,
    });
  }
}
