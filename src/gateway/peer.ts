/**
 * Who is at the other end of a Unix socket, and where its process works: SO_PEERCRED gives the pid, /proc the folder.
 * It is a hint, as `?cwd=` is: a process chooses its own folder, and what it names is opened and checked like any other.
 */
import { readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { loadCredentials, type ReadCredentials } from '../supervise/credentials.ts';

export interface Peers {
  /** Working directory of the process that connected; null where it can't be known (another user's, none any more). */
  cwd(socket: Socket): Promise<string | null>;
}

/** `start`: in clock ticks since boot, so that a pid that was given to another process is not taken for it. */
type Peer = { readonly pid: number; readonly start: string };

/** `remark` is told once where peers can't be read at all. */
export function createPeers(remark: (line: string) => void): Peers {
  let loading: Promise<ReadCredentials | null> | null = null;
  const known = new WeakMap<Socket, Promise<Peer | null>>();

  async function identify(socket: Socket): Promise<Peer | null> {
    // Loaded with the first call that needs it: most bring their folder.
    const read = await (loading ??= loadReader(remark));
    const pid = read?.(socket)?.pid ?? 0;
    // 0: a process that this namespace does not see.
    const start = pid <= 0 ? null : await startOf(pid);
    return start === null ? null : { pid, start };
  }
  return {
    async cwd(socket) {
      const peer = known.get(socket) ?? identify(socket);
      known.set(socket, peer);
      const found = await peer;
      return found && (await cwdOf(found));
    },
  };
}

/** An optional native package; without it a client has to bring its folder. */
async function loadReader(remark: (line: string) => void): Promise<ReadCredentials | null> {
  const found = await loadCredentials();
  if (typeof found !== 'string') return found;
  remark(
    `the working directory of clients on the socket can't be read (${found}): they have to send '?cwd='`,
  );
  return null;
}

async function cwdOf({ pid, start }: Peer): Promise<string | null> {
  const cwd = await orNull(readlink(`/proc/${pid}/cwd`));
  // Asked after the folder was read: it was this process's then.
  if (cwd === null || (await startOf(pid)) !== start) return null;
  // The kernel says "(unreachable)…" of what lies in no folder of ours.
  return cwd.startsWith('/') ? cwd : null;
}

async function startOf(pid: number): Promise<string | null> {
  const stat = await orNull(readFile(`/proc/${pid}/stat`, 'utf8'));
  // The command's name may hold spaces and brackets: the fields after it begin behind the last bracket.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}

const unreadable: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'ENOENT', 'ESRCH']);

async function orNull(reading: Promise<string>): Promise<string | null> {
  try {
    return await reading;
  } catch (error) {
    if (unreadable.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
