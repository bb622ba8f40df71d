/** The watches on every folder that a path leads through. */
import { watch, type FSWatcher } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { tracePath, type Trace } from './trace.ts';

type Watched = {
  readonly watcher: FSWatcher;
  /** Which folder it was, not only what it was called. */
  readonly identity: string;
  names: ReadonlySet<string>;
  stale: boolean;
};

type Events = {
  /** A name on the way was made, removed, replaced or written. */
  event(): void;
  /** This folder can't be watched, the others can. */
  skipped(dir: string, code: string): void;
};

/** How often the way may change while it is being watched anew. */
const maxRounds = 20;

export class Directories {
  readonly #file: string;
  readonly #events: Events;
  readonly #watched = new Map<string, Watched>();
  readonly #skipped = new Set<string>();
  #closed = false;

  constructor(file: string, events: Events) {
    this.#file = file;
    this.#events = events;
  }

  /**
   * Watches every folder on the way as it is now; what changes after the trace that is given back makes an event.
   * Rejects with the system's error (ENOSPC, EMFILE) if there are no watches left.
   */
  async follow(): Promise<Trace> {
    for (let round = 1; ; round += 1) {
      const trace = await tracePath(this.#file);
      const changed = await this.#watch(trace);
      if (!changed || round === maxRounds) return trace;
    }
  }

  close(): void {
    this.#closed = true;
    for (const dir of this.#watched.keys()) this.#drop(dir);
  }

  /** Whether anything was watched anew: then the way may have changed unseen before it. */
  async #watch({ lookups }: Trace): Promise<boolean> {
    const wanted = Map.groupBy(lookups, ({ dir }) => dir);
    for (const dir of this.#watched.keys()) if (!wanted.has(dir)) this.#drop(dir);
    let changed = false;
    for (const [dir, names] of wanted) {
      const added = await this.#watchOne(dir, new Set(names.map(({ name }) => name)));
      changed ||= added;
    }
    return changed;
  }

  async #watchOne(dir: string, names: ReadonlySet<string>): Promise<boolean> {
    const identity = await identify(dir);
    const old = this.#watched.get(dir);
    if (old !== undefined && !old.stale && old.identity === identity) {
      old.names = names;
      return false;
    }
    this.#drop(dir);
    if (identity === null) return true;
    if (this.#skipped.has(dir) || this.#closed) return false;
    return this.#add(dir, names, identity);
  }

  #add(dir: string, names: ReadonlySet<string>, identity: string): boolean {
    let watcher: FSWatcher;
    try {
      watcher = watch(dir, { persistent: false });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return true;
      if (code !== 'EACCES' && code !== 'EPERM') throw error;
      this.#skipped.add(dir);
      this.#events.skipped(dir, code);
      return false;
    }
    const watched: Watched = { watcher, identity, names, stale: false };
    watcher.on('change', (_kind, name) => this.#seen(dir, watched, name));
    watcher.on('error', () => this.#seen(dir, watched, null));
    this.#watched.set(dir, watched);
    return true;
  }

  #seen(dir: string, watched: Watched, name: string | Buffer | null): void {
    // The folder's own end comes under its own name; the watch is deaf from then on.
    if (name === null || name === path.basename(dir)) watched.stale = true;
    if (watched.stale || watched.names.has(String(name))) this.#events.event();
  }

  #drop(dir: string): void {
    this.#watched.get(dir)?.watcher.close();
    this.#watched.delete(dir);
  }
}

/** The time of birth too, because the number of a removed folder is soon given to another. */
async function identify(dir: string): Promise<string | null> {
  try {
    const { dev, ino, birthtimeNs } = await stat(dir, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null;
    throw error;
  }
}
