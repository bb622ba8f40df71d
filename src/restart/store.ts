/**
 * Recorded namespaces and their contamination markers: `$XDG_STATE_HOME/wraptool/namespaces/`, one file of mode 0600
 * for each, replaced whole, so that they outlive the session, its supervisor and the machine's next start.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
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

/** A record, or what stands in for one that can't be read: a marker that counts until somebody has looked. */
export type Found =
  | { readonly name: string; readonly record: NamespaceRecord }
  | { readonly name: string; readonly damaged: Marker };

/** All that are recorded, by name. Error: unsafe_location where others could write there. */
export async function findNamespaces(env: Env): Promise<Found[]> {
  const folder = folderOf(env);
  await assertOperatorsOwn(folder, 'state');
  const names = (await filesIn(folder))
    .filter((file) => file.endsWith(ending) && !file.startsWith('.'))
    .sort();
  const found = await Promise.all(names.map((file) => findIn(path.join(folder, file))));
  return found.filter((one) => one !== null);
}

/** Live markers of one namespace; one that can't be read has one. Error: unsafe_location. */
export async function markersOf(env: Env, name: string): Promise<Marker[]> {
  const file = fileOf(env, name);
  await assertOperatorsOwn(folderOf(env), 'state');
  const found = await findIn(file);
  if (found === null) return [];
  return 'damaged' in found
    ? [found.damaged]
    : found.record.markers.filter(({ cleared }) => cleared === null);
}

/** Null where there is no file. */
async function findIn(file: string): Promise<Found | null> {
  const name = path.basename(file, ending).replace('__', '/');
  try {
    const bytes = await bytesOf(file);
    return bytes === null ? null : { name, record: read(file, bytes) };
  } catch (error) {
    if (!(error instanceof WraptoolError) || error.code !== 'state_damaged') throw error;
    const at = new Date(0).toISOString();
    const detail = `${error.message}: ${error.hint ?? ''}`;
    return {
      name,
      damaged: { id: '', namespace: name, at, reason: 'record_damaged', detail, cleared: null },
    };
  }
}

const largest = 4 * 1024 * 1024;

/** Null where there is no file. What is none, or too large for one, is damaged: it is neither waited for nor taken in. */
async function bytesOf(file: string): Promise<Buffer | null> {
  let handle;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > largest) throw damaged(file);
    return await handle.readFile();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (['ELOOP', 'ENXIO', 'ENODEV', 'EISDIR'].includes(code)) throw damaged(file);
    throw error;
  } finally {
    await handle?.close();
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
  throw damaged(file);
}

function damaged(file: string): WraptoolError {
  return new WraptoolError('state_damaged', `"${file}" is not the record of a namespace`, {
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

/**
 * Records a namespace, so that it is known when nothing of it is live; of one that is recorded only its kind is what it is
 * now.
 */
export async function recordNamespace(env: Env, { name, kind }: Namespace, now: Date): Promise<void> {
  await change(env, name, (old) => {
    if (old === null) return fresh({ name, kind }, now);
    return old.kind === kind ? null : { ...old, kind };
  });
}

function fresh({ name, kind }: Namespace, now: Date): NamespaceRecord {
  return { version: 1, name, kind, since: now.toISOString(), markers: [] };
}

/** More say nothing new: the last one counts, and the log has all. */
const mostMarkers = 200;

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
    return { ...record, markers: [...record.markers, marker].slice(-mostMarkers) };
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
