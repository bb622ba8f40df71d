import { readdir, readFile, stat } from 'node:fs/promises';

/** Processes of ours that are a bubblewrap of that session and have lost their parent. */
export async function orphans(session: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1);
  const found = await Promise.all(pids.map(async (pid) => ((await isOrphan(pid, session)) ? pid : null)));
  return found.filter((pid) => pid !== null);
}

/** Processes of ours that were started with that in their environment, such as `NAME=a value that only one has`. */
export async function withVariable(assignment: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const assigned = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
        return assigned.includes(assignment) && (await isOurs(pid)) ? pid : null;
      } catch (error) {
        if (gone.has((error as NodeJS.ErrnoException).code ?? '')) return null;
        throw error;
      }
    }),
  );
  return found.filter((pid) => pid !== null);
}

const gone = new Set(['ENOENT', 'ESRCH', 'EACCES']);

async function isOurs(pid: number): Promise<boolean> {
  // Root starts sandboxes as the owners of workspaces.
  return process.getuid?.() === 0 || (await stat(`/proc/${pid}`)).uid === process.getuid?.();
}

async function isOrphan(pid: number, session: string): Promise<boolean> {
  try {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    if (!/(^|\/)bwrap$/.test(words[0] ?? '') || words[words.indexOf('--hostname') + 1] !== session)
      return false;
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    const parent = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]);
    if ((await stat(`/proc/${pid}`)).uid !== process.getuid?.() && process.getuid?.() !== 0) return false;
    return parent === 1 || (await readFile(`/proc/${parent}/comm`, 'utf8')).trim() === 'systemd';
  } catch (error) {
    if (gone.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}
