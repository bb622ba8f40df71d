/** Who connected a Unix socket, as the kernel recorded it (SO_PEERCRED). */
import type { Socket } from 'node:net';

export type Credentials = { readonly pid: number; readonly uid: number; readonly gid: number };

/** Null where the kernel does not tell. A pid of 0 is a process that this namespace does not see. */
export type ReadCredentials = (socket: Socket) => Credentials | null;

const solSocket = 1;
const soPeerCred = 17;
const bytesOfCred = 12;

/** The reader, or why there is none: it needs Linux and an optional native package. */
export async function loadCredentials(): Promise<ReadCredentials | string> {
  if (process.platform !== 'linux') return 'it needs Linux';
  try {
    const { default: koffi } = await import('koffi');
    const getsockopt = koffi
      .load(null)
      .func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)');
    return (socket) => {
      const fd = descriptorOf(socket);
      if (fd === null) return null;
      const value = Buffer.alloc(bytesOfCred);
      const length = [bytesOfCred];
      if (getsockopt(fd, solSocket, soPeerCred, value, length) !== 0 || length[0] !== bytesOfCred)
        return null;
      const view = new DataView(value.buffer, value.byteOffset);
      return { pid: view.getInt32(0, true), uid: view.getUint32(4, true), gid: view.getUint32(8, true) };
    };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  }
}

/** Node does not document it; a number where there is one. */
function descriptorOf(socket: Socket): number | null {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly fd?: unknown } | null };
  const fd = handle?.fd;
  return typeof fd === 'number' && fd >= 0 ? fd : null;
}
