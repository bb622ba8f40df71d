/** `wraptool` in one process for many runs, one after the other. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type Said = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type Resident = {
  wraptool(...argv: readonly string[]): Promise<Said>;
  end(): Promise<void>;
};

/** `env` is its whole environment. */
export function startResident(env: Readonly<Record<string, string>>): Resident {
  const child = fork(fileURLToPath(new URL('resident-child.ts', import.meta.url)), { env, execArgv: [] });
  const ended = once(child, 'exit');
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (argv: readonly string[]): Promise<Said> => {
    const answer = once(child, 'message') as Promise<[Said]>;
    child.send(argv);
    const [said] = await Promise.race([
      answer,
      ended.then(() => Promise.reject(new Error(`it ended during "${argv.join(' ')}"`))),
    ]);
    return said;
  };
  return {
    wraptool: (...argv) => {
      const turn = last.then(() => ask(argv));
      last = turn.catch(() => undefined);
      return turn;
    },
    end: async () => {
      child.disconnect();
      await ended;
    },
  };
}
