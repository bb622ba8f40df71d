import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Ends what a call left behind. This process is the subreaper of its descendants, so an orphan (setsid, double fork)
 * becomes its child; whose it was can't be seen any more, but it is younger than the call that started it. Therefore
 * an orphan is ended as soon as no call is running that is older than it.
 */
export class Reaper {
  readonly #enabled: boolean;
  readonly #running = new Set<number>();
  readonly #dead = new Set<number>();

  constructor(enabled: boolean) {
    this.#enabled = enabled;
  }

  /** Orphans that nobody can wait for: they keep their pid until this process ends. */
  get dead(): number {
    return this.#dead.size;
  }

  add(pid: number): void {
    this.#running.add(pid);
  }

  /** The call of this process is over: ends its group and what it orphaned. */
  async finish(pid: number): Promise<void> {
    this.#running.delete(pid);
    kill(-pid);
    if (!this.#enabled) return;
    for (let round = 0; round < 50; round++) {
      const orphans = this.#orphans();
      if (orphans.length === 0) return;
      for (const orphan of orphans) kill(orphan);
      await wait(1);
    }
  }

  /** Ends every child and what they orphaned. */
  async finishAll(): Promise<void> {
    for (const pid of this.#running) {
      kill(-pid);
      kill(pid);
    }
    this.#running.clear();
    for (let round = 0; round < 200; round++) {
      const left = childrenOf(process.pid).filter((pid) => statOf(pid)?.dead === false);
      if (left.length === 0) return;
      for (const pid of left) kill(pid);
      await wait(1);
    }
  }

  #orphans(): number[] {
    const children = childrenOf(process.pid);
    const unknown = children.filter((pid) => !this.#running.has(pid) && !this.#dead.has(pid));
    if (unknown.length === 0) return [];
    const oldest = Math.min(...[...this.#running].map((pid) => statOf(pid)?.started ?? Infinity));
    return unknown.filter((pid) => {
      const stat = statOf(pid);
      if (stat === null) return false;
      if (stat.dead) this.#dead.add(pid);
      return !stat.dead && stat.started < oldest;
    });
  }
}

/** Direct children, dead ones included. */
function childrenOf(pid: number): number[] {
  return (readIfThere(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
}

/** Start in clock ticks since boot, or null if there is no such process. */
function statOf(pid: number): { dead: boolean; started: number } | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { dead: fields[0] === 'Z' || fields[0] === 'X', started: Number(fields[19]) };
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

/** SIGKILL to a process, or to a group (negative). */
export function kill(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
