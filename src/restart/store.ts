/**
 * Recorded namespaces and their contamination markers: `$XDG_STATE_HOME/wraptool/namespaces/`, one file of mode 0600
 * for each, replaced whole, so that they outlive the session, its supervisor and the machine's next start.
 */
import { randomBytes } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { assertOperatorsOwn } from '../config/location.ts';
import { updateFile } from '../edit/file.ts';
import { WraptoolError } from '../errors.ts';
import { stateDir } from '../paths.ts';
import {
  namespaceShape,
  parseNamespaceRecord,
  renderNamespaceRecord,
  type NamespaceRecord,
} from './record.ts';
import type { Marker, Namespace } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;

const ending = '.json';

function folderOf(env: Env): string {
  return path.join(stateDir(env), 'namespaces');
}

/** A session's name has no underscore and a server's no two of them, so that each file is one namespace's. */
function fileOf(env: Env, name: string): string {
  if (!namespaceShape.test(name))
    throw new WraptoolError('usage', `"${name}" cannot be a namespace`, {
      hint: 'a namespace is a session, NAME, or a server in it, NAME/SERVER',
    });
  return path.join(folderOf(env), `${name.replace('/', '__')}${ending}`);
}

/** All that are recorded, by name. Errors: unsafe_location where others could write there; state_damaged. */
export async function readNamespaces(env: Env): Promise<NamespaceRecord[]> {
  const folder = folderOf(env);
  await assertOperatorsOwn(folder, 'state');
  const names = (await filesIn(folder))
    .filter((file) => file.endsWith(ending) && !file.startsWith('.'))
    .sort();
  return Promise.all(
    names.map(async (file) => read(path.join(folder, file), await readFile(path.join(folder, file)))),
  );
}

/** One namespace's record; null where it is not recorded. Errors: as readNamespaces. */
export async function readNamespace(env: Env, name: string): Promise<NamespaceRecord | null> {
  const file = fileOf(env, name);
  await assertOperatorsOwn(folderOf(env), 'state');
  try {
    return read(file, await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** A file that is not readable may have held a marker: it is never passed over. */
function read(file: string, bytes: Buffer): NamespaceRecord {
  const record = parseNamespaceRecord(bytes.toString('utf8'));
  if (record !== null && path.basename(file) === `${record.name.replace('/', '__')}${ending}`) return record;
  throw new WraptoolError('state_damaged', `"${file}" is not the record of a namespace`, {
    hint: 'look at the file; if it is of no use, move it away: its markers are then lost',
  });
}

async function change(
  env: Env,
  name: string,
  make: (old: NamespaceRecord | null) => NamespaceRecord | null,
): Promise<void> {
  const file = fileOf(env, name);
  await assertOperatorsOwn(folderOf(env), 'state');
  await updateFile(file, (bytes) => {
    const made = make(bytes === null ? null : read(file, bytes));
    return made === null ? null : { write: Buffer.from(renderNamespaceRecord(made)) };
  });
}

/** Records a namespace, so that it is known when nothing of it is live; one that is recorded stays as it is. */
export async function recordNamespace(env: Env, { name, kind }: Namespace, now: Date): Promise<void> {
  await change(env, name, (old) => (old === null ? fresh({ name, kind }, now) : null));
}

function fresh({ name, kind }: Namespace, now: Date): NamespaceRecord {
  return { version: 1, name, kind, since: now.toISOString(), markers: [] };
}

/** Sets a marker on a namespace, recording that one if need be. */
export async function setMarker(
  env: Env,
  namespace: Namespace,
  what: { readonly reason: string; readonly detail: string },
  now: Date,
): Promise<Marker> {
  const { name } = namespace;
  const id = randomBytes(8).toString('hex');
  const marker: Marker = { id, namespace: name, at: now.toISOString(), ...what, cleared: null };
  await change(env, name, (old) => {
    const record = old ?? fresh(namespace, now);
    return { ...record, markers: [...record.markers, marker] };
  });
  return marker;
}

/** Clears the live markers of a namespace and gives them as they are now; none where there were none. */
export async function clearMarkers(
  env: Env,
  name: string,
  by: { readonly actor: string; readonly note: string },
  now: Date,
): Promise<Marker[]> {
  const cleared = { at: now.toISOString(), by: by.actor, note: by.note };
  const done: Marker[] = [];
  await change(env, name, (old) => {
    done.length = 0;
    if (old === null) return null;
    const markers = old.markers.map((marker) => {
      if (marker.cleared !== null) return marker;
      const next = { ...marker, cleared };
      done.push(next);
      return next;
    });
    return done.length === 0 ? null : { ...old, markers };
  });
  return done;
}
