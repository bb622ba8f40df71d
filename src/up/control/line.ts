/** Requests and answers on a session's control socket: one line of JSON each; what follows is the command's own. */
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';

export type Request = Readonly<Record<string, unknown>>;

export function controlSocket(sessionDir: string): string {
  return join(sessionDir, 'control.sock');
}

/** Of a gateway without a session: no session's folder has a dot in its name. */
export function serveSocket(sessions: string, name: string): string {
  return join(sessions, `${name}.sock`);
}

/** Whether somebody listens on a socket: what a dead one left refuses. */
export function answers(file: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createConnection(file);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? resolve(false) : reject(error),
    );
  });
}

const longest = 1024 * 1024;

/** The next line, without what comes after it; null where the other side ended first. Throws on one that is too long. */
export async function readLine(socket: Socket): Promise<string | null> {
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      if (socket.readableEnded || socket.destroyed) return null;
      await readable(socket);
      continue;
    }
    const end = chunk.indexOf(10);
    parts.push(end < 0 ? chunk : chunk.subarray(0, end));
    size += chunk.length;
    if (end >= 0) {
      if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
      return Buffer.concat(parts).toString('utf8');
    }
    if (size > longest) throw new RangeError(`a line of more than ${longest} bytes`);
  }
}

function readable(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const names = ['readable', 'end', 'close'] as const;
    const done = (): void => {
      for (const name of names) socket.off(name, done);
      resolve();
    };
    for (const name of names) socket.on(name, done);
  });
}

export function writeLine(socket: Socket, value: unknown): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(value)}\n`);
}
