/** What is left over and can go: dead sessions and old images; installations and homes only where they are asked for. */
import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { loadDescriptor } from '../harness/descriptor.ts';
import { cacheDir, stateDir } from '../paths.ts';
import { isGone } from './gone.ts';
import { workspaceKey, type Memory } from './memory.ts';
import { removeTree } from './remove-tree.ts';
import { createRuntime } from './runtime/create.ts';
import { runtimeNames, type Leftover } from './runtime/runtime.ts';
import { listSessions } from './session.ts';
import { reclaimDead } from './sessions.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type PruneOptions = {
  readonly dryRun: boolean;
  /** Images that the next session could still use, too. */
  readonly images: boolean;
  /** Installed versions other than a descriptor's own. */
  readonly harnesses: boolean;
  /** Harness homes, logins included, of workspaces that are gone. */
  readonly homes: boolean;
};

/** `removed` is false with --dry-run, and where something came to use it meanwhile. */
export type Pruned = { readonly what: string; readonly bytes: number | null; readonly removed: boolean };

/** `fault` is told what could not be removed; it stays for the next time. */
export async function prune(
  env: Env,
  options: PruneOptions,
  fault: (error: WraptoolError) => void,
): Promise<Pruned[]> {
  const sessions = await deadSessions(env, options.dryRun, fault);
  const found = [
    ...(await leftovers(options.images)),
    ...(options.harnesses ? await oldInstallations(env) : []),
    ...(options.homes ? await lostHomes(env) : []),
  ];
  const pruned: Pruned[] = [];
  for (const { what, bytes, remove } of found) {
    const removed = !options.dryRun && (await attempt(remove, fault));
    pruned.push({ what, bytes, removed });
  }
  return [...sessions, ...pruned];
}

/** What an agent left may be such that it cannot be removed: then the others go all the same. */
async function attempt(remove: Leftover['remove'], fault: (error: WraptoolError) => void): Promise<boolean> {
  try {
    return await remove();
  } catch (error) {
    if (!(error instanceof WraptoolError) || error.code !== 'not_removed') throw error;
    fault(error);
    return false;
  }
}

async function deadSessions(
  env: Env,
  dryRun: boolean,
  fault: (error: WraptoolError) => void,
): Promise<Pruned[]> {
  if (!dryRun) return (await reclaimDead(env, fault)).map((what) => ({ what, bytes: null, removed: true }));
  const dead = (await listSessions(env)).filter(({ alive }) => !alive);
  return dead.map(({ dir }) => ({
    what: `what is left of the session "${path.basename(dir)}"`,
    bytes: null,
    removed: false,
  }));
}

async function leftovers(all: boolean): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const name of runtimeNames) found.push(...((await createRuntime(name).leftovers?.(all)) ?? []));
  return found;
}

/** None of a harness that a session uses now: which version it has is not known. */
async function oldInstallations(env: Env): Promise<Leftover[]> {
  const base = path.join(cacheDir(env), 'harnesses');
  const live = (await listSessions(env)).filter(({ alive }) => alive);
  const inUse = new Set(live.map(({ session }) => session?.state.harness));
  const found: Leftover[] = [];
  for (const name of (await names(base)).filter((entry) => !inUse.has(entry))) {
    const current = await currentVersion(env, name);
    const versions = (await names(path.join(base, name))).filter(
      (entry) => /^\d/.test(entry) && entry !== current,
    );
    for (const version of versions) {
      const dir = path.join(base, name, version);
      const bytes = await sizeOf(dir);
      found.push({ what: `${name} ${version} in ${dir}`, bytes, remove: () => done(removeTree(dir)) });
    }
  }
  return found;
}

/** Null where there is no such harness any more, or it is not installed by wraptool. */
async function currentVersion(env: Env, name: string): Promise<string | null> {
  try {
    return (await loadDescriptor(name, env)).install?.npm?.version ?? null;
  } catch (error) {
    if (error instanceof WraptoolError && error.code === 'harness_unknown') return null;
    throw error;
  }
}

/**
 * By what is remembered of each workspace; a home of which nothing is known stays. So does that of any session that is
 * listed: where an agent still works, what is removed by its path may be a link to another place by then.
 */
async function lostHomes(env: Env): Promise<Leftover[]> {
  const inUse = new Set((await listSessions(env)).map(({ session }) => session?.state.home));
  const memories = path.join(stateDir(env), 'workspaces');
  const homes = path.join(stateDir(env), 'homes');
  const found: Leftover[] = [];
  for (const file of (await names(memories)).filter((name) => name.endsWith('.json'))) {
    const memory = JSON.parse(await readFile(path.join(memories, file), 'utf8')) as Memory;
    if (!(await isGone(memory.workspace))) continue;
    const key = workspaceKey(memory.workspace);
    for (const harness of await names(homes)) {
      const dir = path.join(homes, harness, key);
      if (inUse.has(dir) || (await isGone(dir))) continue;
      found.push({
        what: `home of ${harness} for ${memory.workspace}, which is gone, in ${dir}`,
        bytes: await sizeOf(dir),
        remove: () => done(removeTree(dir)),
      });
    }
  }
  return found;
}

async function done(removal: Promise<void>): Promise<true> {
  await removal;
  return true;
}

async function names(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Null where it cannot be told: an agent may have closed folders, or made a path too long to name. */
async function sizeOf(dir: string): Promise<number | null> {
  try {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    let bytes = 0;
    for (const entry of files) bytes += (await lstat(path.join(entry.parentPath, entry.name))).size;
    return bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}
