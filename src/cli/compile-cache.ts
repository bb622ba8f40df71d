/** Node's cache of compiled code. Whoever can write there writes code that this process runs. */
import { lstatSync, type Stats } from 'node:fs';
import module from 'node:module';
import path from 'node:path';

const sticky = 0o1000;
const writableByOthers = 0o022;

/** Switched on only where the folder, and every one above it, is root's or ours alone. It is only a matter of speed. */
export function enableCompileCache(folder: string): void {
  if (isOwn(folder)) module.enableCompileCache(folder);
}

function isOwn(folder: string): boolean {
  const trusted = [0, process.geteuid?.() ?? 0];
  let entered = false;
  for (let dir = folder; ; dir = path.dirname(dir)) {
    const stats = statsOf(dir);
    if (stats === 'hidden') return false;
    if (stats !== null) {
      // A link leads to folders that are not looked at here.
      if (!stats.isDirectory() || !trusted.includes(stats.uid)) return false;
      const shielded = (stats.mode & sticky) !== 0 && entered;
      if ((stats.mode & writableByOthers) !== 0 && !shielded) return false;
      entered = true;
    }
    if (dir === '/') return true;
  }
}

/** Null where there is nothing; 'hidden' where nobody can say, as in another user's HOME. */
function statsOf(dir: string): Stats | 'hidden' | null {
  try {
    return lstatSync(dir, { throwIfNoEntry: false }) ?? null;
  } catch {
    return 'hidden';
  }
}
