/**
 * Bind mounts that an approved definition takes from the workspace. Another session can put a link in the place of such a
 * folder after the look at it, and the engine follows that: so what was mounted is compared with what is there.
 */
import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Bind } from '../../confine/types.ts';
import { holds, orNull } from '../../devcontainer/ground.ts';
import { WraptoolError } from '../../errors.ts';
import type { Identity } from './mounts.ts';

/** Linux's, which Node does not name: the place is opened, not the file. */
const placeOnly = 0o10000000;

/** Each with its target as path; those of other places of the host are left out. Errors: runtime_failed. */
export async function workspaceBinds(
  binds: readonly Bind[],
  workspace: string,
): Promise<readonly Identity[]> {
  const found: Identity[] = [];
  for (const { source, target } of binds)
    if (path.isAbsolute(source) && (await isThrough(path.resolve(source), workspace)))
      found.push({ ...(await placeOf(source, workspace)), path: target });
  return found;
}

/** True where the way to it leads into the workspace, links of the host on that way followed. */
async function isThrough(source: string, workspace: string): Promise<boolean> {
  for (let at = source; ; at = path.dirname(at)) {
    if (holds(workspace, at)) return true;
    const real = await orNull(realpath(at));
    if (real !== null && holds(workspace, real)) return true;
    if (at === path.dirname(at)) return false;
  }
}

async function placeOf(source: string, workspace: string): Promise<Omit<Identity, 'path'>> {
  const handle = await orNull(open(source, constants.O_RDONLY | placeOnly));
  if (handle === null) throw changed(source, 'it is not there');
  try {
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    if (!holds(workspace, real)) throw changed(source, 'it leads out of the workspace');
    const { dev, ino } = await handle.stat({ bigint: true });
    return { dev: String(dev), ino: String(ino) };
  } finally {
    await handle.close();
  }
}

function changed(source: string, what: string): WraptoolError {
  return new WraptoolError(
    'runtime_failed',
    `"${source}", which the definition mounts, was changed: ${what}`,
    {
      hint: 'nothing of the harness ran; look at what changes the workspace, then start again',
    },
  );
}
