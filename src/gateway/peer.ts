/**
 * Who is at the other end of a Unix socket, and where its process works: SO_PEERCRED gives the pid, /proc the folder.
 * It is a hint, as `?cwd=` is: a process chooses its own folder, and what it names is opened and checked like any other.
 */
import { readFile, readlink } from 'node:fs/promises';
import type { Socket } from 'node:net';

export interface Peers {
  /** Working directory of the process that connected; null where it can't be known (another user's, none any more). */
  cwd(socket: Socket): Promise<string | null>;
}

/** Pid of the process that connected a Unix socket's descriptor; null where the kernel does not tell. */
type ReadPid = (fd: number) => number | null;

/** `start`: in clock ticks since boot, so that a pid that was given to another process is not taken for it. */
type Peer = { readonly pid: number; readonly start: string };

const solSocket = 1;
const soPeerCred = 17;
const bytesOfCred = 12;

/** `remark` is told once where peers can't be read at all. */
export function createPeers(remark: (line: string) => void): Peers {
  let loading: Promise<ReadPid | null> | null = null;
  const known = new WeakMap<Socket, Promise<Peer | null>>();

  async function identify(socket: Socket): Promise<Peer | null> {
    // Loaded with the first call that needs it: most bring their folder.
    const readPid = await (loading ??= loadReader(remark));
    const fd = descriptorOf(socket);
    const pid = readPid === null || fd === null ? null : readPid(fd);
    const start = pid === null ? null : await startOf(pid);
    return pid === null || start === null ? null : { pid, start };
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
async function loadReader(remark: (line: string) => void): Promise<ReadPid | null> {
  const without = (why: string) => {
    remark(
      `the working directory of clients on the socket can't be read (${why}): they have to send '?cwd='`,
    );
    return null;
  };
  if (process.platform !== 'linux') return without('it needs Linux');
  try {
    const { default: koffi } = await import('koffi');
    const getsockopt = koffi
      .load(null)
      .func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)');
    return (fd) => {
      const value = Buffer.alloc(bytesOfCred);
      const length = [bytesOfCred];
      if (getsockopt(fd, solSocket, soPeerCred, value, length) !== 0 || length[0] !== bytesOfCred)
        return null;
      const pid = new DataView(value.buffer, value.byteOffset).getInt32(0, true);
      // 0: a process that this namespace does not see.
      return pid > 0 ? pid : null;
    };
  } catch (error) {
    return without((error as NodeJS.ErrnoException).code ?? (error as Error).message);
  }
}

/** Node does not document it; a number where there is one. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : null;
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
