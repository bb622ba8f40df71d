/**
 * A supervisor's control socket, for a session NAME/control.sock: never mounted into the runtime, mode 0600 in a folder of mode 0700,
 * and where the kernel can be asked, open to the operator and root only. One connection is one request.
 */
import { chmod, stat } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { WraptoolError } from '../../errors.ts';
import { loadCredentials, type Credentials } from '../../supervise/credentials.ts';
import { readLine, writeLine, type Request } from './line.ts';

/**
 * Answers one request on its connection, which is closed afterwards. A WraptoolError is answered as such. `peer`: who
 * connected, null where the kernel can't be asked.
 */
export type Handler = (request: Request, connection: Socket, peer: Credentials | null) => Promise<void>;

export type Control = {
  /** Ends all connections; the socket is gone. Idempotent. */
  close(): Promise<void>;
};

/** Listens at `file`. `handlers` by the request's `do`. `fault` is told what nobody asked for. */
export async function openControl(
  file: string,
  handlers: Readonly<Record<string, Handler>>,
  fault: (error: unknown) => void,
): Promise<Control> {
  const own = process.getuid?.() ?? 0;
  const dir = path.dirname(file);
  const folder = await stat(dir);
  if (folder.uid !== own || (folder.mode & 0o077) !== 0)
    throw new WraptoolError('unsafe_location', `others may enter the folder "${dir}"`, {
      hint: `chmod 700 "${dir}"`,
    });
  const connections = new Set<Socket>();
  let credentials: ReturnType<typeof loadCredentials> | null = null;
  const server = createServer((socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') fault(error);
    });
    void admit(socket).catch(fault);
  });
  const admit = async (socket: Socket): Promise<void> => {
    // Where it cannot be loaded, the modes above are what keeps others out.
    const read = await (credentials ??= loadCredentials());
    if (typeof read === 'string') return answer(socket, null, handlers, fault);
    // Null: one that is gone already. It gets no answer, and nothing is done for it.
    const peer = read(socket);
    if (peer !== null && (peer.uid === own || peer.uid === 0)) await answer(socket, peer, handlers, fault);
    else socket.destroy();
  };
  await listen(server, file);
  // Loaded aside: the first request need not wait for it.
  setImmediate(() => void (credentials ??= loadCredentials()));
  return {
    close: async () => {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of connections) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: ReturnType<typeof createServer>, file: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(file, () => {
      server.off('error', reject);
      resolve();
    });
  });
  await chmod(file, 0o600);
}

async function answer(
  socket: Socket,
  peer: Credentials | null,
  handlers: Readonly<Record<string, Handler>>,
  fault: (error: unknown) => void,
): Promise<void> {
  try {
    const request = parse(await readLine(socket));
    if (request === null) return;
    const name = String(request['do']);
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined)
      throw new WraptoolError('usage', `the session knows no request "${name}"`, {
        hint: 'use the version of wraptool that started it',
      });
    await handler(request, socket, peer);
  } catch (error) {
    if (!(error instanceof WraptoolError)) fault(error);
    const { code, message, hint } =
      error instanceof WraptoolError ? error : new WraptoolError('internal', String(error));
    writeLine(socket, { error: { code, message, hint: hint ?? null } });
  } finally {
    socket.end();
  }
}

function parse(line: string | null): Request | null {
  if (line === null) return null;
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as Request;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new WraptoolError('usage', 'a request is a line with a JSON object');
}
