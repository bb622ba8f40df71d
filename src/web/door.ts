/**
 * Where the operator's command line asks a running page for a link: a Unix socket in a folder of the operator's own, one
 * for each page, which no runtime has a mount of.
 */
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createConnection } from 'node:net';
import { assertOperatorsOwn } from '../config/location.ts';
import { WraptoolError } from '../errors.ts';
import { sessionsDir } from '../paths.ts';
import type { Role } from '../restart/actions.ts';
import { isAlive, processRef } from '../supervise/process.ts';
import { controlSocket, readLine, writeLine } from '../up/control/line.ts';
import { openControl } from '../up/control/server.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Invitation = {
  readonly url: string;
  readonly role: Role;
  /** Of the session whose page it is; null for a bare gateway's. */
  readonly session: string | null;
  readonly config: string;
  readonly pid: number;
};

const folderOf = (env: Env): string => path.join(sessionsDir(env), '.admin');

/** Opens the door of this process's page; resolves with what closes it. */
export async function openDoor(
  env: Env,
  invite: (role: Role) => Invitation,
  fault: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const own = await processRef(process.pid);
  if (own === null)
    throw new WraptoolError('internal', 'this process is not in /proc', { hint: 'mount /proc' });
  await assertOperatorsOwn(folderOf(env), 'state');
  const dir = path.join(folderOf(env), `${own.pid}-${own.start}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
  const control = await openControl(
    controlSocket(dir),
    {
      invite: async (request, connection) =>
        writeLine(connection, invite(request['role'] === 'operator' ? 'operator' : 'viewer')),
    },
    fault,
  );
  return async () => {
    await control.close();
    await rm(dir, { recursive: true, force: true });
  };
}

/** Pages that are served now, the newest last; what dead ones left is removed. */
export async function findDoors(env: Env): Promise<readonly string[]> {
  const doors: { dir: string; start: number }[] = [];
  await assertOperatorsOwn(folderOf(env), 'state');
  for (const name of await names(folderOf(env))) {
    const [, pid, start] = /^(\d+)-(\d+)$/.exec(name) ?? [];
    const dir = path.join(folderOf(env), name);
    if (pid === undefined || start === undefined) continue;
    if (await isAlive({ pid: Number(pid), start })) doors.push({ dir, start: Number(start) });
    else await rm(dir, { recursive: true, force: true });
  }
  return doors.toSorted((a, b) => a.start - b.start).map(({ dir }) => dir);
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A link of the page behind a door; null where it has just been closed. */
export async function askInvitation(door: string, role: Role): Promise<Invitation | null> {
  const socket = createConnection(controlSocket(door));
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', resolve);
    });
    writeLine(socket, { do: 'invite', role });
    const line = await readLine(socket);
    return line === null ? null : (JSON.parse(line) as Invitation);
  } catch (error) {
    if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return null;
    throw error;
  } finally {
    socket.destroy();
  }
}
