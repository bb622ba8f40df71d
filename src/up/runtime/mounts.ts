/** What of a workspace and its repository a runtime mounts. Everything below the workspace is hostile input. */
import { constants } from 'node:fs';
import { lstat, mkdir, open, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Bind } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { isSubmodulePlace, worktreeOf } from './submodule.ts';

/** A folder as it was when it was judged: what is mounted must be that very one. */
export type Identity = { readonly path: string; readonly dev: string; readonly ino: string };

export type WorkspaceMounts = {
  readonly readOnly: readonly Bind[];
  /** In this order. */
  readonly writable: readonly Bind[];
  /** Over the writable ones. */
  readonly readOnlyOver: readonly Bind[];
  readonly identities: readonly Identity[];
};

type Owned = { readonly path: string; readonly uid: number; readonly gid: number };

/**
 * The workspace; its `.git` as a mount point of its own with read-only hooks; for a linked worktree what else of the
 * repository git needs. With `make`, a missing hooks folder is made. Errors: workspace_refused.
 */
export async function workspaceMounts(
  workspace: Owned,
  options: { make: boolean },
): Promise<WorkspaceMounts> {
  const whole = { ...none, writable: [same(workspace.path)], identities: [await identity(workspace.path)] };
  const dotGit = join(workspace.path, '.git');
  const kind = await kindOf(dotGit);
  if (kind === 'folder') return combined(whole, await ownRepository(workspace, dotGit, options.make));
  if (kind === 'file') return combined(whole, await elsewhere(workspace, dotGit, options.make));
  if (kind === 'link') throw refused(dotGit, 'a link');
  return whole;
}

/** Folders of the repository outside the workspace; the ones that hold others come first. Errors: workspace_refused. */
export async function repositoryBeyond(
  workspace: Owned,
): Promise<readonly (Identity & { readonly writable: boolean })[]> {
  const { identities, writable } = await workspaceMounts(workspace, { make: false });
  const written = new Set(writable.map(({ target }) => target));
  return identities
    .filter(({ path }) => path !== workspace.path && !path.startsWith(`${workspace.path}/`))
    .map((folder) => ({ ...folder, writable: written.has(folder.path) }));
}

const none: WorkspaceMounts = { readOnly: [], writable: [], readOnlyOver: [], identities: [] };

async function ownRepository(workspace: Owned, dotGit: string, make: boolean): Promise<WorkspaceMounts> {
  const hooks = join(dotGit, 'hooks');
  let kind = await kindOf(hooks);
  if (kind === 'nothing' && make) {
    if (!(await makeInside(dotGit, 'hooks', workspace)))
      return { ...none, writable: [same(dotGit)], identities: [await identity(dotGit)] };
    kind = await kindOf(hooks);
  }
  if (kind !== 'folder' && (make || kind !== 'nothing'))
    throw refused(hooks, kind === 'link' ? 'a link' : 'not a folder');
  return {
    ...none,
    writable: [same(dotGit)],
    readOnlyOver: [same(hooks)],
    identities: make ? [await identity(dotGit), await identity(hooks)] : [],
  };
}

/** The repository of a linked worktree, or of a submodule that is a workspace by itself. */
async function elsewhere(workspace: Owned, dotGit: string, make: boolean): Promise<WorkspaceMounts> {
  const own = await pointedAt(dotGit, 'gitdir: ');
  // Below the workspace all is mounted already.
  if (own === null || `${own}/`.startsWith(`${workspace.path}/`)) return none;
  if (basename(dirname(own)) === 'worktrees') return linkedWorktree(workspace.path, dotGit, own);
  return isSubmodulePlace(own) && (await kindOf(own)) === 'folder'
    ? submodule(workspace, dotGit, own, make)
    : none;
}

/**
 * The agent may have written where `.git` points: it counts only if the repository there says that this is its work tree,
 * in a config that the agent gets read-only.
 */
async function submodule(
  workspace: Owned,
  dotGit: string,
  own: string,
  make: boolean,
): Promise<WorkspaceMounts> {
  const config = join(own, 'config');
  if ((await realFolder(own)) !== own || (await kindOf(config)) !== 'file') throw unproven(dotGit, own);
  if ((await worktreeOf(own)) !== workspace.path) throw unproven(dotGit, own);
  const repository = await ownRepository(workspace, own, make);
  return { ...repository, readOnlyOver: [...repository.readOnlyOver, same(config)] };
}

/**
 * `.git` says where the worktree's own part of the repository is. The agent may have written it: it counts only if that
 * place says, in its turn, that this worktree belongs to it, and no link leads away from there.
 */
async function linkedWorktree(workspace: string, dotGit: string, own: string): Promise<WorkspaceMounts> {
  const common = dirname(dirname(own));
  // Below the workspace all is mounted already.
  if (`${common}/`.startsWith(`${workspace}/`)) return none;
  if ((await kindOf(join(own, 'gitdir'))) !== 'file' || (await realFolder(own)) !== own)
    throw unproven(dotGit, own);
  const back = (await readFile(join(own, 'gitdir'), 'utf8')).trim();
  if (back !== dotGit && join(own, back) !== dotGit) throw unproven(dotGit, own);
  const parts = [];
  for (const name of ['objects', 'refs', 'logs']) {
    const kind = await kindOf(join(common, name));
    if (kind === 'folder') parts.push(join(common, name));
    else if (kind !== 'nothing') throw refused(join(common, name), 'not a folder');
  }
  const writable = [...parts, own];
  return {
    ...none,
    readOnly: [same(common)],
    writable: writable.map(same),
    identities: await Promise.all([common, ...writable].map(identity)),
  };
}

/** Absolute path in a one-line file of git, or null. */
async function pointedAt(file: string, prefix: string): Promise<string | null> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(8192), 0, 8192, 0);
    const text = buffer.toString('utf8', 0, bytesRead);
    if (!text.startsWith(prefix) || bytesRead === 8192 || text.includes('\0')) return null;
    const path = text.slice(prefix.length).replace(/\r?\n$/, '');
    return path.startsWith('/') ? join(path) : join(dirname(file), path);
  } finally {
    await handle.close();
  }
}

async function kindOf(path: string): Promise<'folder' | 'file' | 'link' | 'nothing' | 'other'> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return 'link';
    return stats.isDirectory() ? 'folder' : stats.isFile() ? 'file' : 'other';
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return 'nothing';
    throw error;
  }
}

async function realFolder(path: string): Promise<string> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await readlink(`/proc/self/fd/${handle.fd}`);
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder in one that is held open: a link that takes its place meanwhile leads nowhere. False where neither this
 * process nor the session's user can make one. Error: workspace_refused, where that user could.
 */
async function makeInside(parent: string, name: string, owner: Owned): Promise<boolean> {
  const handle = await open(parent, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const made = `/proc/self/fd/${handle.fd}/${name}`;
    await mkdir(made);
    if (process.getuid?.() !== owner.uid) {
      const inner = await open(made, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      try {
        await inner.chown(owner.uid, owner.gid);
      } finally {
        await inner.close();
      }
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code === 'EROFS') return false;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    // Its owner can give itself the right to write.
    if ((await handle.stat()).uid !== owner.uid) return false;
    throw new WraptoolError(
      'workspace_refused',
      `'${parent}' has no folder '${name}', and none can be made`,
      {
        hint: `without it an agent could make one: mkdir -p '${join(parent, name)}', or chmod u+w '${parent}'`,
      },
    );
  } finally {
    await handle.close();
  }
}

export async function identity(path: string): Promise<Identity> {
  const stats = await lstat(path, { bigint: true });
  return { path, dev: String(stats.dev), ino: String(stats.ino) };
}

function combined(a: WorkspaceMounts, b: WorkspaceMounts): WorkspaceMounts {
  return {
    readOnly: [...a.readOnly, ...b.readOnly],
    writable: [...a.writable, ...b.writable],
    readOnlyOver: [...a.readOnlyOver, ...b.readOnlyOver],
    identities: [...a.identities, ...b.identities],
  };
}

function same(path: string): Bind {
  return { source: path, target: path };
}

function refused(path: string, what: string): WraptoolError {
  return new WraptoolError(
    'workspace_refused',
    `'${path}' is ${what}: mounting it would show the agent another place`,
    {
      hint: 'look at what made it, and put a real folder there',
    },
  );
}

function unproven(dotGit: string, own: string): WraptoolError {
  return new WraptoolError(
    'workspace_refused',
    `'${dotGit}' points at '${own}', which does not know this worktree: mounting it would show the agent a foreign folder`,
    { hint: 'run "git worktree repair" in the main repository if the worktree was moved' },
  );
}
