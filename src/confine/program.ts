import { accessSync, constants } from 'node:fs';
import { WraptoolError } from '../errors.ts';

/** Only folders that belong to the system: the caller's PATH may name a folder of the workspace. */
const folders = [
  ...['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'],
  // Guix System has its programs nowhere else.
  ...['/run/current-system/profile/sbin', '/run/current-system/profile/bin'],
];

/** PATH of every launcher and of nothing confined. */
export const systemPath = folders.join(':');

const found = new Map<string, string>();

/** Absolute path of an executable of the system, or null. */
export function findProgram(name: string): string | null {
  const known = found.get(name);
  if (known !== undefined) return known;
  for (const folder of folders) {
    const path = `${folder}/${name}`;
    if (executable(path)) {
      found.set(name, path);
      return path;
    }
  }
  return null;
}

/** Absolute path of an executable of the system. Throws confine_unavailable naming what is missing. */
export function program(name: string): string {
  const path = findProgram(name);
  if (path !== null) return path;
  throw new WraptoolError('confine_unavailable', `there is no '${name}' in ${systemPath}`, {
    hint: `install it: apt-get install ${packages[name] ?? name}`,
  });
}

const packages: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  setpriv: 'util-linux',
  prlimit: 'util-linux',
  unshare: 'util-linux',
  env: 'coreutils',
  sh: 'dash',
};

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return false;
    throw error;
  }
}
