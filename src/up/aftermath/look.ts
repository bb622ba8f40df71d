/** What stands at the places that run by themselves. All of it is hostile input: opened folder by folder, no link followed. */
import { createHash } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { open, readdir, readlink, type FileHandle } from 'node:fs/promises';
import { gitRuns, notSearched, notSearchedInGit, workspaceRuns, type Runs } from './runs.ts';

/** Path as it is shown, to what was there. */
export type Look = {
  readonly found: ReadonlyMap<string, { readonly print: string; readonly by: string }>;
  /** False: there were more entries than are looked at. */
  readonly whole: boolean;
};

const mostEntries = 50_000;
const mostDepth = 12;
const mostBytes = 1024 * 1024;
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** The workspace changes while it is looked at, and its owner may forbid what he likes. */
const passedOver = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENXIO', 'ENAMETOOLONG']);

/** `gitFolders`: of a linked worktree, its own part of the repository, which lies outside of the workspace. */
export async function lookAt(workspace: string, gitFolders: readonly string[] = []): Promise<Look> {
  const search = new Search();
  await search.git(`${workspace}/.git`, '.git');
  for (const folder of gitFolders) await search.git(folder, folder);
  await search.folder(workspace, '', { shown: '', table: workspaceRuns, skip: notSearched });
  return { found: search.found, whole: search.left > 0 };
}

type Place = { readonly shown: string; readonly table: readonly Runs[]; readonly skip: ReadonlySet<string> };

class Search {
  readonly found = new Map<string, { print: string; by: string }>();
  left = mostEntries;

  async git(at: string, shown: string): Promise<void> {
    const pointer = await printOf(at, shown);
    // A file, or a link: it says by itself which repository, and with it whose config and hooks, git takes.
    if (pointer !== null) this.found.set(shown, { print: pointer, by: 'git' });
    else await this.folder(at, '', { shown: `${shown}/`, table: gitRuns, skip: notSearchedInGit });
  }

  async folder(at: string, below: string, place: Place, depth = 0): Promise<void> {
    await using folder = await opened(at, folderFlags);
    if (folder === null || depth > mostDepth) return;
    for (const entry of await entriesOf(folder)) {
      this.left -= 1;
      if (this.left <= 0) return;
      const name = `${below}${entry.name}`;
      const full = `/proc/self/fd/${folder.fd}/${entry.name}`;
      if (entry.isDirectory()) {
        const objects = place.table === gitRuns && /(^|\/)objects$/.test(below.slice(0, -1));
        if (place.skip.has(entry.name) || (objects && entry.name !== 'info')) continue;
        await this.folder(full, `${name}/`, place, depth + 1);
        continue;
      }
      const runs = place.table.find(({ path }) => path.test(name));
      const print = runs === undefined ? null : await printOf(full, name);
      if (runs !== undefined && print !== null)
        this.found.set(`${place.shown}${name}`, { print, by: runs.by });
    }
  }
}

async function entriesOf(folder: FileHandle): Promise<readonly Dirent[]> {
  try {
    const all = await readdir(`/proc/self/fd/${folder.fd}`, { withFileTypes: true });
    // Files first: where there is too much to look at, it is what lies deep that is missed.
    return [...all.filter((entry) => !entry.isDirectory()), ...all.filter((entry) => entry.isDirectory())];
  } catch (error) {
    if (passedOver.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

/** Null where there is nothing, or a folder. */
async function printOf(full: string, name: string): Promise<string | null> {
  await using file = await opened(full, fileFlags);
  if (file === null) return linkOf(full);
  const stats = await file.stat();
  if (stats.isDirectory()) return null;
  if (!stats.isFile()) return 'no plain file';
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(stats.size, mostBytes)), 0, null, 0);
  const bytes = buffer.subarray(0, bytesRead);
  const told = /(^|\/)package\.json$/.test(name) ? scriptsOf(bytes) : bytes;
  const runnable = (stats.mode & 0o111) === 0 ? '' : 'x';
  const rest = told === bytes ? `${stats.size}` : '';
  return `${runnable}:${rest}:${createHash('sha256').update(told).digest('hex')}`;
}

async function linkOf(full: string): Promise<string | null> {
  try {
    return `link to ${await readlink(full)}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EINVAL') return 'not readable';
    if (passedOver.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** What of a package.json runs: an agent that adds a dependency has changed nothing here. */
function scriptsOf(bytes: Buffer): Buffer | string {
  try {
    const { scripts, workspaces, packageManager, ...rest } = JSON.parse(bytes.toString('utf8')) as Record<
      string,
      unknown
    >;
    const hooks = ['husky', 'lint-staged', 'simple-git-hooks', 'pre-commit', 'gypfile', 'volta'].map(
      (key) => rest[key],
    );
    return JSON.stringify([scripts, workspaces, packageManager, hooks]);
  } catch (error) {
    // Not JSON, or no object: all of it counts.
    if (error instanceof SyntaxError || error instanceof TypeError) return bytes;
    throw error;
  }
}

async function opened(at: string, flags: number): Promise<FileHandle | null> {
  try {
    return await open(at, flags);
  } catch (error) {
    if (passedOver.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
