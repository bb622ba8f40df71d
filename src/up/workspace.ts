/** Which folder the session works in, and whether it may. Git is never asked: its config there is hostile. */
import type { Stats } from 'node:fs';
import { lstat, open, readFile, readlink, realpath } from 'node:fs/promises';
import { constants } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { WraptoolError } from '../errors.ts';

export type Workspace = {
  /** Real path. */
  readonly path: string;
  /** As the operator spelled it, absolute; equal to path unless a link led there. */
  readonly given: string;
  readonly uid: number;
  readonly gid: number;
};

export type WorkspaceQuestion = {
  /** Value of --workspace. */
  readonly flag: string | undefined;
  /** The operator's working directory, as spelled by the shell where that is known. */
  readonly cwd: string;
  /** The operator's HOME. */
  readonly home: string;
  /** Folders of wraptool's own state and config. */
  readonly stateDirs: readonly string[];
  /** What the host runs for the session, whose agent must not write it; none where no session is started. */
  readonly programs?: readonly string[];
};

/** Folders that belong to the system; a project below them is fine, they themselves are not. */
const systemDirs =
  '/bin /boot /etc /home /lib /lib32 /lib64 /media /mnt /opt /root /run /sbin /srv /tmp /usr /usr/local /var /var/tmp'.split(
    ' ',
  );
/** Nothing at or below these can be a workspace: the kernel's, or mount points of every runtime. */
const takenTrees = ['/dev', '/proc', '/sys', '/home/agent', '/opt/wraptool', '/run/wraptool'];

/** Errors: workspace_refused. */
export async function resolveWorkspace(question: WorkspaceQuestion): Promise<Workspace> {
  const spelled =
    question.flag === undefined ? await workTreeTop(question.cwd) : resolve(question.cwd, question.flag);
  const { path, stats } = await openReal(spelled);
  const home = await realOrSame(question.home);
  if (path === '/' || systemDirs.includes(path)) throw refused(path, 'it is a folder of the system');
  if (takenTrees.some((tree) => holds(tree, path)))
    throw refused(path, 'that place is taken inside the runtime');
  if (path === home)
    throw refused(path, 'it is your home folder: everything in it would be open to the agent');
  if (holds(path, home)) throw refused(path, `your home folder '${home}' lies in it`);
  for (const dir of question.stateDirs) {
    const real = await realOrSame(dir);
    if (holds(path, real))
      throw refused(path, `'${real}', where wraptool keeps what the agent must not write, lies in it`);
    if (holds(real, path))
      throw refused(path, `it lies in '${real}', where wraptool keeps what the agent must not write`);
  }
  for (const program of question.programs ?? []) {
    const real = await realOrSame(program);
    if (holds(path, real) || holds(real, path))
      throw refused(
        path,
        `the agent could change '${real}', which your host runs`,
        'work in another folder with --workspace DIR, or run a wraptool that is installed outside of this one',
      );
  }
  // `a/link/..` means one thing to resolve() and another to the kernel: only a spelling that leads there is kept.
  const given = (await realOrSame(spelled)) === path ? spelled : path;
  return { path, given, uid: stats.uid, gid: stats.gid };
}

/** The nearest folder at or above cwd that has a repository in it, else cwd. */
async function workTreeTop(cwd: string): Promise<string> {
  for (let dir = cwd; ; dir = dirname(dir)) {
    if (await hasRepository(dir)) return dir;
    if (dirname(dir) === dir) return cwd;
  }
}

async function hasRepository(dir: string): Promise<boolean> {
  const dotGit = join(dir, '.git');
  const stats = await lstatOrNull(dotGit);
  if (stats?.isDirectory() === true) return (await lstatOrNull(join(dotGit, 'HEAD'))) !== null;
  if (stats?.isFile() !== true || stats.size > 8192) return false;
  return (await readFile(dotGit, 'utf8')).startsWith('gitdir: ');
}

async function openReal(spelled: string): Promise<{ path: string; stats: Stats }> {
  try {
    const handle = await open(spelled, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return { path: await readlink(`/proc/self/fd/${handle.fd}`), stats: await handle.stat() };
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why = {
      ENOENT: 'it does not exist',
      ENOTDIR: 'it is not a folder',
      EACCES: 'it cannot be read',
      ELOOP: 'its links go in circles',
      ENAMETOOLONG: 'its name is too long',
    };
    if (code === undefined || !(code in why)) throw error;
    throw refused(spelled, why[code as keyof typeof why]);
  }
}

/** True if inner is outer or lies below it. */
function holds(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`);
}

async function lstatOrNull(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

async function realOrSame(path: string): Promise<string> {
  if (!isAbsolute(path)) throw new WraptoolError('internal', `'${path}' is not an absolute path`);
  try {
    return await realpath(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return resolve(path);
    throw error;
  }
}

function refused(
  path: string,
  why: string,
  hint = 'name a project folder with --workspace DIR',
): WraptoolError {
  return new WraptoolError('workspace_refused', `'${path}' cannot be the workspace: ${why}`, { hint });
}
