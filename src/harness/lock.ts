/** A lock between processes that the kernel gives back when its holder dies, however it dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { WraptoolError } from '../errors.ts';

export type Lock = { release(): Promise<void> };

/**
 * Waits for the exclusive lock on `file`, which is made if missing. flock(2) is held by a helper process whose
 * standard input is ours: the end of this process ends it. `waiting` is called once if somebody else has the lock.
 */
export async function takeLock(file: string, signal: AbortSignal, waiting: () => void): Promise<Lock> {
  const child = spawn('/usr/bin/env', ['flock', '--exclusive', file, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    cwd: '/',
    // Ctrl-C is for this process, which gives the lock back in order.
    detached: true,
  });
  const ended = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const release = async (): Promise<void> => {
    child.stdin.end();
    // A cat that waits for the lock has not begun to read; the group holds nothing else.
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) endGroup(child.pid);
    await ended;
  };
  const patience = setTimeout(waiting, 1000);
  try {
    const outcome = await Promise.race([
      once(child.stdout, 'data', { signal }).then(() => 'held' as const),
      ended.then(() => 'ended' as const),
    ]);
    if (outcome === 'held') return { release };
    throw new WraptoolError('harness_install_failed', `the lock "${file}" cannot be taken`, {
      hint: said.trim() === '' ? 'flock is part of util-linux' : said.trim(),
    });
  } catch (error) {
    await release();
    throw error;
  } finally {
    clearTimeout(patience);
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
