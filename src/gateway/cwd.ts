import { constants, readFileSync, readlinkSync } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { WraptoolError } from '../errors.ts';
import type { OpenedDir } from '../executor/types.ts';
import type { CwdVerdict } from '../policy/types.ts';
import { parseCwdQuery, pathProblem } from './cwd-query.ts';

/** A folder that clients may work in, as it was when the config was loaded. */
export type Root = { readonly path: string; readonly dev: bigint; readonly ino: bigint };

export type CwdRequest = {
  /** Raw query of the request's URL, without "?"; `sessionId` of /messages already taken out. */
  readonly query: string;
  /** Working directory of the peer's process, where it is known. */
  readonly peerCwd: string | null;
  /** From resolveWorkingDir: the operator's, not checked against the roots. */
  readonly workingDir: string | null;
  /** Empty: what a client names is not checked. */
  readonly roots: readonly Root[];
};

export type OpenedCwd = {
  readonly verdict: CwdVerdict;
  /** To be closed by the caller once the child has started; null unless the verdict is ok. */
  readonly dir: OpenedDir | null;
  /** Path of the root that contains it, null where no root was asked. */
  readonly root: string | null;
  /** A query that is refused as `request_malformed` before anything else is judged; the verdict is a refusal too. */
  readonly malformed: string | null;
};

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** Real paths and identities of the roots, once. Throws config_invalid for one that is no folder. */
export async function resolveRoots(paths: readonly string[]): Promise<readonly Root[]> {
  const roots = paths.map((path) =>
    withFolder(path, 'a cwd root', async (handle) => {
      const { dev, ino } = await handle.stat({ bigint: true });
      return { path: pathOf(handle), dev, ino };
    }),
  );
  return Object.freeze(await Promise.all(roots));
}

/** Real path of a tool's `working_dir`, once. Throws config_invalid if it is no folder. */
export async function resolveWorkingDir(path: string): Promise<string> {
  return await withFolder(path, 'a working_dir', async (handle) => pathOf(handle));
}

/**
 * Opens the working directory of a call, then judges what was opened: its real path through the descriptor and its
 * mount. A later swap of any name changes nothing, because the child starts in the descriptor.
 */
export async function openCwd(request: CwdRequest): Promise<OpenedCwd> {
  const query = parseCwdQuery(request.query);
  if (!query.ok) {
    const malformed = query.code === 'request_malformed' ? query.detail : null;
    return { ...refuse('cwd_invalid', query.detail), malformed };
  }
  const named = query.cwd ?? request.peerCwd;
  if (named !== null) return await openNamed(named, request.roots);
  if (request.workingDir !== null) return await openOperators(request.workingDir);
  return refuse(
    'cwd_invalid',
    `there is no working directory: the client must send one${within(request.roots)}`,
  );
}

async function openNamed(path: string, roots: readonly Root[]): Promise<OpenedCwd> {
  const problem = pathProblem(path);
  if (problem !== null) return refuse('cwd_invalid', problem + within(roots));
  const handle = await openFolder(path, O_RDONLY | O_DIRECTORY);
  if (!('fd' in handle)) return refuse(handle.code, handle.detail + within(roots));
  return await closedUnlessTaken(handle, async () => {
    const realPath = pathOf(handle);
    if (await removed(handle, realPath)) return refuse('cwd_not_found', 'the working directory was removed');
    if (!realPath.startsWith('/')) return refuse('cwd_invalid', 'the working directory has no path in UTF-8');
    if (roots.length === 0) return accept(handle, realPath, null);
    const root = await rootOf(handle, realPath, roots);
    if (root !== null) return accept(handle, realPath, root.path);
    return refuse(
      'cwd_outside_roots',
      `the working directory is not in a folder that is allowed${within(roots)}`,
    );
  });
}

/** Trusted, but only as long as the name still leads, without a link, to where it led at load. */
async function openOperators(path: string): Promise<OpenedCwd> {
  const handle = await openFolder(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!('fd' in handle)) return refuse(handle.code, `the tool's working_dir: ${handle.detail}`);
  return await closedUnlessTaken(handle, async () => {
    const realPath = pathOf(handle);
    if (realPath === path) return accept(handle, realPath, null);
    return refuse(
      'cwd_invalid',
      "the tool's working_dir is no longer the folder that it was when the config was loaded",
    );
  });
}

/** The root that holds the folder in its own mount: what is mounted below a root came from elsewhere. */
async function rootOf(handle: FileHandle, realPath: string, roots: readonly Root[]): Promise<Root | null> {
  const mount = mountOf(handle);
  for (const root of roots) {
    if (realPath !== root.path && !realPath.startsWith(root.path === '/' ? '/' : `${root.path}/`)) continue;
    const rootHandle = await openFolder(root.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!('fd' in rootHandle)) continue;
    try {
      const { dev, ino } = await rootHandle.stat({ bigint: true });
      if (dev === root.dev && ino === root.ino && mountOf(rootHandle) === mount) return root;
    } finally {
      await rootHandle.close();
    }
  }
  return null;
}

type Refused = { readonly code: 'cwd_invalid' | 'cwd_not_found'; readonly detail: string };

async function openFolder(path: string, flags: number): Promise<FileHandle | Refused> {
  try {
    return await open(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { code: 'cwd_not_found', detail: 'the working directory does not exist' };
    if (code === 'ELOOP')
      return { code: 'cwd_not_found', detail: 'the working directory is a loop of links' };
    if (code === 'ENOTDIR') return { code: 'cwd_invalid', detail: 'the working directory is not a folder' };
    if (code === 'EACCES' || code === 'EPERM')
      return { code: 'cwd_invalid', detail: 'the working directory is unreadable' };
    if (code === 'ENAMETOOLONG') return { code: 'cwd_invalid', detail: 'the working directory is too long' };
    // Too few descriptors and the like: a fault of ours, not the client's.
    throw error;
  }
}

// What /proc says of a descriptor is in the kernel's memory: unlike the folder itself, which may lie on a file system
// that never answers, it is read at once, and a thread for it would take longer than the reading.

/** Real path as the kernel sees it, through the descriptor. */
function pathOf(handle: FileHandle): string {
  const bytes = readlinkSync(`/proc/self/fd/${handle.fd}`, { encoding: 'buffer' });
  const path = bytes.toString('utf8');
  // A name that is no UTF-8 would be another path once it is a string.
  return Buffer.from(path).equals(bytes) ? path : `(not UTF-8)${path}`;
}

/** The kernel marks a removed folder in its path; the same text may be an honest name. */
async function removed(handle: FileHandle, realPath: string): Promise<boolean> {
  if (!realPath.endsWith(' (deleted)')) return false;
  const { dev, ino } = await handle.stat({ bigint: true });
  try {
    const named = await lstat(realPath, { bigint: true });
    return named.dev !== dev || named.ino !== ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}

function mountOf(handle: FileHandle): string {
  const info = readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8');
  const mount = /^mnt_id:\s*(\d+)/m.exec(info);
  if (mount === null)
    throw new WraptoolError('internal', 'the kernel does not tell the mount of a descriptor');
  return mount[1]!;
}

async function closedUnlessTaken(handle: FileHandle, judge: () => Promise<OpenedCwd>): Promise<OpenedCwd> {
  let taken = false;
  try {
    const opened = await judge();
    taken = opened.dir !== null;
    return opened;
  } finally {
    if (!taken) await handle.close();
  }
}

async function withFolder<T>(
  path: string,
  what: string,
  use: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const handle = await openFolder(path, O_RDONLY | O_DIRECTORY);
  if (!('fd' in handle)) {
    throw new WraptoolError('config_invalid', `'${path}' can't be ${what}: ${handle.detail}`, {
      hint: 'name a folder that exists',
    });
  }
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

function accept(handle: FileHandle, realPath: string, root: string | null): OpenedCwd {
  let closing: Promise<void> | undefined;
  const dir: OpenedDir = { fd: handle.fd, realPath, close: () => (closing ??= handle.close()) };
  return { verdict: { ok: true }, dir, root, malformed: null };
}

function refuse(code: 'cwd_invalid' | 'cwd_not_found' | 'cwd_outside_roots', detail: string): OpenedCwd {
  return { verdict: { ok: false, code, detail }, dir: null, root: null, malformed: null };
}

function within(roots: readonly Root[]): string {
  return roots.length === 0 ? '' : ` (allowed: ${roots.map((root) => `'${root.path}'`).join(', ')})`;
}
