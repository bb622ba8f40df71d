/** Which definition a workspace has, and its bytes. */
import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { holds, orNull, readPlain } from './ground.ts';

export type Located = {
  /** Absolute, as spelled below the workspace's real path. */
  readonly file: string;
  /** Relative to the workspace. */
  readonly name: string;
  /** Null: there is something, but no plain file that can be read. */
  readonly bytes: Buffer | null;
  /** A link leads out of the workspace to it. */
  readonly leadsOut: boolean;
};

/** Where the Dev Containers CLI looks when none is named. */
const usual = [path.join('.devcontainer', 'devcontainer.json'), '.devcontainer.json'];

/** `workspace` is a real path. Null: there is none. Errors: usage, for a named one that is not there. */
export async function locate(
  workspace: string,
  named: string | undefined,
  cwd: string,
): Promise<Located | null> {
  if (named === undefined) {
    for (const name of usual) {
      const found = await look(workspace, path.join(workspace, name));
      if (found !== null) return found;
    }
    return null;
  }
  const file = await spelled(workspace, named, cwd);
  if (!holds(workspace, file))
    throw new WraptoolError('usage', `"${named}" is not in the workspace "${workspace}"`, {
      hint: 'name a definition of the workspace, relative to it',
    });
  const found = await look(workspace, file);
  if (found !== null) return found;
  throw new WraptoolError('usage', `there is no definition "${named}" in "${workspace}"`, {
    hint: 'name it relative to the workspace: --definition .devcontainer/NAME/devcontainer.json',
  });
}

/** Relative to the workspace; else to the current folder. */
async function spelled(workspace: string, named: string, cwd: string): Promise<string> {
  const inside = path.resolve(workspace, named);
  if (!path.isAbsolute(named) && (await orNull(lstat(inside))) !== null) return inside;
  const full = path.resolve(cwd, named);
  if (holds(workspace, full)) return full;
  // The workspace may be spelled with links on the way to it.
  const folder = await orNull(realpath(path.dirname(full)));
  const real = folder === null ? full : path.join(folder, path.basename(full));
  return holds(workspace, real) ? real : path.isAbsolute(named) ? full : inside;
}

/** A definition behind a link is looked at wherever it is: what is judged is what the link shows. */
async function look(workspace: string, file: string): Promise<Located | null> {
  if ((await orNull(lstat(file))) === null) return null;
  const real = await orNull(realpath(file));
  const name = path.relative(workspace, file);
  if (real === null) return { file, name, bytes: null, leadsOut: true };
  const leadsOut = !holds(workspace, real);
  const bytes = await readPlain(real, (at) => leadsOut || holds(workspace, at));
  return { file, name, bytes, leadsOut };
}
