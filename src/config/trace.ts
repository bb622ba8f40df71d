/** The way from a path to its file as the kernel walks it, link by link. */
import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';

export type Lookup = {
  /** Real path of the folder in which the name is looked up. */
  readonly dir: string;
  readonly name: string;
};

export type Trace = {
  /** Each one can change what the path leads to; the last is the file itself, or what is missing. */
  readonly lookups: readonly Lookup[];
  /** Real path; null when the way ends before a file. */
  readonly real: string | null;
  /** Code of the error at which the way ended. */
  readonly problem: string | null;
};

/** As the kernel's limit. */
const maxLinks = 40;

/** @param file absolute */
export async function tracePath(file: string): Promise<Trace> {
  const lookups: Lookup[] = [];
  const rest = parts(file);
  let dir = '/';
  let links = 0;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '..') {
      dir = path.dirname(dir);
      continue;
    }
    lookups.push({ dir, name });
    const found = await look(path.join(dir, name));
    if (typeof found === 'string') return { lookups, real: null, problem: found };
    if (found.target === null) {
      dir = path.join(dir, name);
      continue;
    }
    links += 1;
    if (links > maxLinks) return { lookups, real: null, problem: 'ELOOP' };
    if (path.isAbsolute(found.target)) dir = '/';
    rest.unshift(...parts(found.target));
  }
  return { lookups, real: dir, problem: null };
}

/** Code of an error, or where a link points to. */
async function look(place: string): Promise<string | { readonly target: string | null }> {
  try {
    const stat = await lstat(place);
    return { target: stat.isSymbolicLink() ? await readlink(place) : null };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && ['ENOENT', 'ENOTDIR', 'EACCES', 'EINVAL', 'ENAMETOOLONG'].includes(code))
      return code;
    throw error;
  }
}

function parts(of: string): string[] {
  return of.split('/').filter((name) => name !== '' && name !== '.');
}
