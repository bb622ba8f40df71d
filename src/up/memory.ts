/** What is remembered per workspace, outside of it: the runtime last used and the remotes that the operator confirmed. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stateDir } from '../paths.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Memory = {
  readonly workspace: string;
  readonly runtime?: string;
  readonly remotes?: Readonly<Record<string, string>>;
};

/** 12 hex digits that name a workspace in file names. */
export function workspaceKey(workspace: string): string {
  return createHash('sha256').update(workspace).digest('hex').slice(0, 12);
}

function file(env: Env, workspace: string): string {
  return path.join(stateDir(env), 'workspaces', `${workspaceKey(workspace)}.json`);
}

export async function recall(env: Env, workspace: string): Promise<Memory> {
  try {
    const found = JSON.parse(await readFile(file(env, workspace), 'utf8')) as Memory;
    return found.workspace === workspace ? found : { workspace };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { workspace };
    throw error;
  }
}

export async function remember(env: Env, workspace: string, change: Partial<Memory>): Promise<void> {
  const target = file(env, workspace);
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
  const next = { ...(await recall(env, workspace)), ...change };
  const temporary = `${target}.${process.pid}`;
  await writeFile(temporary, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, target);
}

/** Every workspace that a session ran in. */
export async function rememberedWorkspaces(env: Env): Promise<string[]> {
  const folder = path.join(stateDir(env), 'workspaces');
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return Promise.all(
    names
      .filter((name) => /^[0-9a-f]{12}\.json$/.test(name))
      .map(async (name) => (JSON.parse(await readFile(path.join(folder, name), 'utf8')) as Memory).workspace),
  );
}
