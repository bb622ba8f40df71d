/** Tells when the config file is another one, however it was saved, and misses none. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { Directories } from './directories.ts';
import type { Trace } from './trace.ts';

export type WatchOptions = {
  /** Absolute; may be, or lead through, links. */
  readonly file: string;
  /** Quiet time after a change before it is told, in ms. */
  readonly debounceMs?: number;
  /** Between two looks without an event (a queue of the kernel that ran over, a mount), in ms; 0: none. */
  readonly recheckMs?: number;
  /** sha256 (hex) of the content that was loaded; absent: what the file holds now. */
  readonly loaded?: string;
  /** Loads. One at a time; a change meanwhile makes another one. */
  readonly onChange: () => void | Promise<void>;
  readonly onWarn: (warning: string) => void;
};

export type ConfigWatch = {
  /** Resolves when the watches stand; false: only `reload` works. */
  readonly ready: Promise<boolean>;
  /** As for a change, whether there is one or not (SIGHUP). Resolves when it was loaded. */
  reload(): Promise<void>;
  close(): void;
};

export function watchConfig(options: WatchOptions): ConfigWatch {
  return new Watch(options);
}

/** A file that never comes to rest is loaded all the same after so many times the quiet time. */
const maxWait = 10;

type State = {
  /** Content, mode and owner: what loading looks at. */
  readonly print: string;
  readonly sha256: string;
  /** Differs if the file was touched in any way. */
  readonly stamp: string;
};

class Watch implements ConfigWatch {
  readonly ready: Promise<boolean>;
  readonly #options: WatchOptions;
  readonly #debounceMs: number;
  readonly #directories: Directories;
  #recheck: NodeJS.Timeout | null = null;
  #timer: NodeJS.Timeout | null = null;
  #firstEvent: number | null = null;
  #turn: Promise<void> = Promise.resolve();
  #queued = false;
  #last: State | null = null;
  #gone: string | null = null;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#debounceMs = options.debounceMs ?? 200;
    this.#directories = new Directories(options.file, {
      event: () => this.#event(),
      skipped: (dir, code) =>
        options.onWarn(`folder '${dir}' can't be watched (${code}): a change of it is seen late`),
    });
    this.ready = this.#begin();
  }

  async reload(): Promise<void> {
    await this.#inTurn(() => this.#check('forced'));
  }

  close(): void {
    this.#closed = true;
    this.#directories.close();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#recheck !== null) clearInterval(this.#recheck);
  }

  async #begin(): Promise<boolean> {
    const { loaded, recheckMs = 5_000 } = this.#options;
    await this.#inTurn(async () => {
      this.#last = await this.#look('content');
      if (loaded !== undefined && this.#last !== null && this.#last.sha256 !== loaded) await this.#load();
    });
    if (this.#closed) return false;
    if (recheckMs > 0) this.#recheck = setInterval(() => this.#enqueue('stamp'), recheckMs).unref();
    return true;
  }

  #event(): void {
    if (this.#closed) return;
    const now = performance.now();
    this.#firstEvent ??= now;
    const latest = this.#firstEvent + maxWait * this.#debounceMs;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#firstEvent = null;
        this.#enqueue('content');
      },
      Math.max(0, Math.min(this.#debounceMs, latest - now)),
    );
  }

  #enqueue(by: 'content' | 'stamp'): void {
    if (this.#queued || this.#closed) return;
    this.#queued = true;
    void this.#inTurn(async () => {
      this.#queued = false;
      await this.#check(by);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = Promise.allSettled([turn]).then(() => undefined);
    return turn;
  }

  async #check(by: 'content' | 'stamp' | 'forced'): Promise<void> {
    const before = this.#last;
    const state = await this.#look(by);
    if (state !== null) this.#last = state;
    const changed = state !== null && before?.print !== state.print;
    if (by === 'forced' || (changed && !this.#closed)) await this.#load();
  }

  /** Null when there is nothing to load: no file, which is told once, or no watch. */
  async #look(by: 'content' | 'stamp' | 'forced'): Promise<State | null> {
    if (this.#closed) return null;
    const trace = await this.#follow();
    if (trace === null) return null;
    const known = by === 'stamp' ? this.#last : null;
    const found = trace.real === null ? (trace.problem ?? 'ENOENT') : await readState(trace.real, known);
    if (typeof found === 'string' && this.#gone !== found)
      this.#options.onWarn(
        `config file '${this.#options.file}' can't be read (${found}): the running policy stays`,
      );
    this.#gone = typeof found === 'string' ? found : null;
    return typeof found === 'string' ? null : found;
  }

  /** Null when there are no watches left, or none here at all. */
  async #follow(): Promise<Trace | null> {
    try {
      return await this.#directories.follow();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === undefined) throw error;
      this.close();
      const hint = code === 'ENOSPC' ? ' (fs.inotify.max_user_watches)' : '';
      this.#options.onWarn(`the config can't be watched: ${code}${hint}; a change is loaded on SIGHUP only`);
      return null;
    }
  }

  async #load(): Promise<void> {
    try {
      await this.#options.onChange();
    } catch (error) {
      this.#options.onWarn(`reload failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** The known state if the file was not touched since; the code of the error if it can't be read as a file. */
async function readState(real: string, known: State | null): Promise<State | string> {
  let handle: FileHandle | undefined;
  try {
    // Not blocking, because it may be a pipe.
    handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await handle.stat({ bigint: true });
    if (!stat.isFile()) return 'it is no file';
    const { dev, ino, size, mode, uid, gid, mtimeNs, ctimeNs } = stat;
    const stamp = [dev, ino, size, mode, uid, gid, mtimeNs, ctimeNs].join();
    if (known?.stamp === stamp) return known;
    const sha256 = createHash('sha256')
      .update(await handle.readFile())
      .digest('hex');
    return { sha256, print: [sha256, mode, uid, gid].join(), stamp };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code;
  } finally {
    await handle?.close();
  }
}
