/**
 * Mutual exclusion of editors without a file that could be left locked: each puts a claim beside the file, under a name
 * that no other ever has, and looks whether it is alone. A claim of a process that is gone is swept away by whoever
 * finds it, so a kill at any moment leaves nothing that needs a hand.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WraptoolError } from '../errors.ts';

export type Disk = typeof fs;

export type Claim = {
  /** A name for a file beside the edited one, which goes with the claim if this process dies. */
  readonly temporary: string;
  readonly release: () => Promise<void>;
};

/** How long others may hold the claim; an edit takes milliseconds. */
const patience = 20_000;

/** Waits until this is the only claim on `target`, a real path. */
export async function takeClaim(target: string, disk: Disk): Promise<Claim> {
  const folder = path.dirname(target);
  const prefix = `.wraptool-${createHash('sha256').update(path.basename(target)).digest('hex').slice(0, 12)}-`;
  const deadline = Date.now() + patience;
  for (;;) {
    // Who had to withdraw waits for all that were there: a fresh claim each time would keep them from getting on.
    await until(
      deadline,
      folder,
      () => living(disk, folder, prefix),
      (others) => others.length === 0,
    );
    const own = `${prefix}${randomBytes(8).toString('hex')}-${process.pid}-${await startOf(process.pid)}`;
    const file = path.join(folder, `${own}.lock`);
    const release = (): Promise<void> => unlinkIfThere(disk, file);
    await (await disk.open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)).close();
    try {
      if (await alone(disk, folder, prefix, own, deadline))
        return { temporary: path.join(folder, `${own}.tmp`), release };
    } catch (error) {
      await release();
      throw error;
    }
    await release();
  }
}

/** True as soon as no other claim lives; false where another one has precedence, and this one is to be withdrawn. */
async function alone(
  disk: Disk,
  folder: string,
  prefix: string,
  own: string,
  deadline: number,
): Promise<boolean> {
  // The first by name stays and waits; so one of several always gets on.
  const others = await until(
    deadline,
    folder,
    async () => (await living(disk, folder, prefix)).filter((name) => name !== own),
    (names) => names.length === 0 || names.some((name) => name < own),
  );
  return others.length === 0;
}

/** Looks until `enough` says so, and resolves with what it saw. */
async function until(
  deadline: number,
  folder: string,
  look: () => Promise<string[]>,
  enough: (names: readonly string[]) => boolean,
): Promise<string[]> {
  for (;;) {
    const names = await look();
    if (enough(names)) return names;
    if (Date.now() > deadline) {
      const holder = /-([0-9]+)-[0-9]+$/.exec(names[0] ?? '')?.[1];
      throw new WraptoolError(
        'edit_conflict',
        `the process ${holder} has been editing in "${folder}" for too long`,
        {
          hint: 'wait until it is done, or end it',
        },
      );
    }
    await delay(2 + Math.random() * 8);
  }
}

/** Claims of living processes. What the dead left, claims and temporary files, is removed. */
async function living(disk: Disk, folder: string, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await disk.readdir(folder)) {
    const [, claim, pid, start, kind] =
      /^(\.wraptool-[0-9a-f]{12}-[0-9a-f]{16}-([0-9]+)-([0-9]+))\.(lock|tmp)$/.exec(name) ?? [];
    if (claim === undefined || !name.startsWith(prefix)) continue;
    if (!(await lives(Number(pid), start ?? '0'))) await unlinkIfThere(disk, path.join(folder, name));
    else if (kind === 'lock') found.push(claim);
  }
  return found;
}

async function lives(pid: number, start: string): Promise<boolean> {
  const now = await startOf(pid);
  // Where /proc doesn't tell (another user’s process under hidepid, another system), a signal does.
  return now === '0' ? canSignal(pid) : now === start;
}

function canSignal(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') return true;
    return false;
  }
}

/** Start time of a process in clock ticks since boot, "0" where unknown, "-1" of one that has ended but not been waited for. */
async function startOf(pid: number): Promise<string> {
  try {
    const fields = (await fs.readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? '-1' : (fields[19] ?? '0');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return '0';
    throw error;
  }
}

export async function unlinkIfThere(disk: Disk, file: string): Promise<void> {
  try {
    await disk.unlink(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
