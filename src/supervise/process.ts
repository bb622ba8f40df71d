/** Processes told apart by pid and start time, so that a reused pid is never taken for ours. */
import { readFile } from 'node:fs/promises';

export type ProcessRef = {
  readonly pid: number;
  /** Start time in clock ticks since boot (field 22 of /proc/PID/stat). */
  readonly start: string;
};

async function stat(pid: number): Promise<{ start: string; state: string } | null> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The command name stands in parentheses and may hold anything, spaces and parentheses included.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', start: fields[19] ?? '' };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}

/** Reference of a process that runs now; null when there is none. */
export async function processRef(pid: number): Promise<ProcessRef | null> {
  const found = await stat(pid);
  return found === null ? null : { pid, start: found.start };
}

/** Whether that very process still runs (a zombie does not). */
export async function isAlive(ref: ProcessRef): Promise<boolean> {
  const found = await stat(ref.pid);
  return found !== null && found.start === ref.start && found.state !== 'Z' && found.state !== 'X';
}

/** Sends a signal to that very process; false when it is gone. */
export async function signal(ref: ProcessRef, name: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(ref))) return false;
  try {
    return process.kill(ref.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Waits until the process is gone, at most `timeoutMs`; whether it is. */
export async function waitForEnd(ref: ProcessRef, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isAlive(ref)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
