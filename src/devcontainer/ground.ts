/** The workspace as hostile input: where a path leads, and bytes of what lies in it. Bounded; only plain files are read. */
import { constants } from 'node:fs';
import { open, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Ground, Where } from './types.ts';

/** Larger files are as if they were not there. */
export const largestFile = 16 * 1024 * 1024;

/** `workspace` is a real path. */
export function workspaceGround(workspace: string): Ground {
  return {
    workspace,
    where: (target) => where(workspace, target),
    async read(target) {
      const real = await reached(target);
      return real !== null && holds(workspace, real) ? readPlain(real, (at) => holds(workspace, at)) : null;
    },
  };
}

async function where(workspace: string, target: string): Promise<Where> {
  const lexical = path.resolve(target);
  const real = await deepest(lexical);
  if (holds(workspace, real)) return 'inside';
  // A path that is spelled with a link to the workspace's own parents leads out too.
  return holds(workspace, lexical) ? 'link' : 'outside';
}

/** The real path of what is there, with the rest of what is not appended. A link to nothing leads where it says. */
async function deepest(target: string, links = 0): Promise<string> {
  const real = await reached(target);
  if (real !== null) return real;
  const parent = path.dirname(target);
  if (parent === target) return target;
  const under = path.join(await deepest(parent, links), path.basename(target));
  const to = await linkAt(under);
  return to === null || links > 40 ? under : deepest(path.resolve(path.dirname(under), to), links + 1);
}

const absent = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'ELOOP',
  'ENXIO',
  'ENAMETOOLONG',
  'EINVAL',
  'ERR_INVALID_ARG_VALUE',
]);

async function reached(target: string): Promise<string | null> {
  return orNull(realpath(target));
}

async function linkAt(target: string): Promise<string | null> {
  return orNull(readlink(target));
}

/** Bytes of the plain file at a real path, if it is still one where `allowed` says. */
export async function readPlain(real: string, allowed: (at: string) => boolean): Promise<Buffer | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
  const handle = await orNull(open(real, flags));
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > largestFile) return null;
    // A folder on the way may have become a link meanwhile: what counts is what was opened.
    if (process.platform === 'linux' && !allowed(await readlink(`/proc/self/fd/${handle.fd}`))) return null;
    const buffer = Buffer.alloc(stats.size + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
      if (length > stats.size) return null;
    }
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}

/** Null where the path leads to nothing, or may not be looked at. */
export async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (absent.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}

/** True if inner is outer or lies below it. */
export function holds(outer: string, inner: string): boolean {
  return inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`);
}
