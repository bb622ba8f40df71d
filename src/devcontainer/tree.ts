/** Files of the workspace by folder and by pattern, as they are to be hashed and copied. Links are never followed out. */
import { lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { holds, orNull } from './ground.ts';
import type { Ground } from './types.ts';

/** Bytes of one file, or what stands there instead, which is hashed and not copied. */
export type Entry = { readonly bytes: Buffer; readonly executable: boolean } | { readonly instead: string };

/** What is looked at beyond that counts as more, too. */
const mostSeen = 50_000;

export const limits = { files: 5000, bytes: 128 * 1024 * 1024 } as const;

/** What a definition names, by path relative to the workspace. */
export class Collection {
  readonly entries = new Map<string, Entry>();
  readonly #ground: Ground;
  #bytes = 0;
  #full = false;
  #seen = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** True where there is more than is taken. */
  get full(): boolean {
    return this.#full;
  }

  put(name: string, bytes: Buffer, executable: boolean): void {
    if (this.entries.has(name)) return;
    this.#bytes += bytes.length;
    if (this.#bytes > limits.bytes || this.entries.size >= limits.files) this.#full = true;
    else this.entries.set(name, { bytes, executable });
  }

  /** One plain file of the workspace, under the name that it was spelled with. False: there is none. */
  async file(full: string): Promise<boolean> {
    if (this.#full || !holds(this.#ground.workspace, full)) return false;
    const bytes = await this.#ground.read(full);
    if (bytes === null) return false;
    const stats = await orNull(lstat(full));
    this.put(path.relative(this.#ground.workspace, full), bytes, ((stats?.mode ?? 0) & 0o111) !== 0);
    return true;
  }

  /** A folder with all below it, or what of it the pattern takes; `.git` is left out. */
  async folder(full: string, pattern: readonly string[] = []): Promise<void> {
    if (this.#full || (await this.#ground.where(full)) !== 'inside') return;
    const [first, ...rest] = pattern;
    if (first !== undefined && !/[*?[\\]/.test(first)) return this.#one(path.join(full, first), rest);
    const shape = first === undefined ? null : globShape(first);
    for (const name of ((await orNull(readdir(full))) ?? []).sort()) {
      if (name === '.git' || (shape !== null && !shape.test(name))) continue;
      if (this.#full) return;
      await this.#one(path.join(full, name), rest);
    }
  }

  async #one(full: string, pattern: readonly string[]): Promise<void> {
    this.#seen += 1;
    if (this.#seen > mostSeen) this.#full = true;
    const stats = this.#full ? null : await orNull(lstat(full));
    if (stats === null) return;
    if (stats.isDirectory()) return this.folder(full, pattern);
    if (pattern.length > 0 || (await this.file(full))) return;
    const name = path.relative(this.#ground.workspace, full);
    const target = stats.isSymbolicLink() ? await orNull(readlink(full)) : null;
    this.entries.set(name, { instead: target === null ? 'no plain file' : `link to ${target}` });
    if (this.entries.size > limits.files) this.#full = true;
  }
}

/** One step of a pattern as COPY has them: `*`, `?`, `[a-z]`, a backslash before a character. */
function globShape(step: string): RegExp {
  const source = step.replace(
    /\\([^])|\[(\^?)([^\]]*)\]|[*?]|[^]/g,
    (whole, escaped?: string, not?: string, set?: string) => {
      if (escaped !== undefined) return literal(escaped);
      if (set !== undefined) return `[${not ?? ''}${set.replace(/[\\\]^]/g, '\\$&')}]`;
      if (whole === '*') return '[^/]*';
      return whole === '?' ? '[^/]' : literal(whole);
    },
  );
  try {
    return new RegExp(`^${source}$`, 's');
  } catch (error) {
    // A set like [z-a] matches nothing.
    if (error instanceof SyntaxError) return /(?!)/;
    throw error;
  }
}

function literal(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Every file below a folder of ours, by relative path; none where the folder is not there. */
export async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = (await orNull(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}
