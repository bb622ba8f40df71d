/** Files that are edited in place must lie where no agent could put a link on the way or change them meanwhile. */
import { readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { stateDir } from '../paths.ts';
import { rememberedWorkspaces } from '../up/memory.ts';
import { listSessions } from '../up/session.ts';

type Env = Readonly<Record<string, string | undefined>>;

const mostLinks = 40;

/** Error: unsafe_location where the way to the file leads through a workspace, an extra root or a harness HOME. */
export async function refuseAgentWritable(file: string, env: Env): Promise<void> {
  const roots = await agentWritable(env);
  let current = path.resolve(file);
  for (let left = mostLinks; left > 0; left -= 1) {
    const root = await firstInside(current, roots);
    if (root !== undefined)
      throw new WraptoolError('unsafe_location', `an agent can write in "${root}", where "${file}" is`, {
        hint: 'see what --print gives, and write it there by hand',
      });
    const link = await readlink(current).catch(noLink);
    if (link === null) return;
    current = path.resolve(await realpath(path.dirname(current)), link);
  }
}

async function agentWritable(env: Env): Promise<string[]> {
  const live = (await listSessions(env)).flatMap(({ session }) => session?.state.roots ?? []);
  return [...live, ...(await rememberedWorkspaces(env)), path.join(stateDir(env), 'homes')];
}

/** The root that the file, or one of the folders above it, really is in. */
async function firstInside(file: string, roots: readonly string[]): Promise<string | undefined> {
  for (let at = file; ; at = path.dirname(at)) {
    const real = await realpath(at).catch(noLink);
    const root = roots.find((one) => real !== null && `${real}/`.startsWith(`${one}/`));
    if (root !== undefined || at === path.dirname(at)) return root;
  }
}

function noLink(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ENOTDIR', 'EINVAL', 'ELOOP'].includes(error.code ?? '')) return null;
  throw error;
}
