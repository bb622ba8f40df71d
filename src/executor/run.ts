import { WraptoolError } from '../errors.ts';
import { checkBinary } from './binary.ts';
import { CallHost } from './call-host.ts';
import type { Guard } from './guards/guard.ts';
import type { ScrubStream } from './output.ts';
import { Queue } from './queue.ts';
import type { Spawner } from './spawner.ts';
import type { Executor, FrozenCall, GuardName, Outcome, RunOptions } from './types.ts';

export type ExecutorOptions = {
  readonly spawner: Spawner;
  readonly scrub: { stream(): ScrubStream };
  readonly guards: Readonly<Partial<Record<GuardName, Guard>>>;
};

/**
 * Runs frozen calls. `run` throws binary_invalid when the binary changed since it was resolved, and what a sandbox
 * may throw; everything that a command does itself is an outcome. `close` closes the spawner too.
 */
export function createExecutor({ spawner, scrub, guards }: ExecutorOptions): Executor {
  const queue = new Queue();
  const newScrub = (): ScrubStream => scrub.stream();
  return {
    run: async (given, options) => {
      const call = copy(given);
      const guard = guardOf(call, guards);
      const place = await queue.enter(call.tool, call.maxConcurrent, options.signal);
      if (place === 'busy') return busy(call);
      const host = new CallHost(spawner, newScrub, call, options);
      // Its only step sees the signal and does not start.
      if (place === 'cancelled') return await plain.run(call, host, options);
      try {
        await checkBinary(call.binary);
        return await guard.run(call, host, options);
      } finally {
        await host.release();
        place();
      }
    },
    close: () => spawner.close(),
  };
}

/** What was decided is what runs, whatever becomes of the caller's object meanwhile. */
function copy(call: FrozenCall): FrozenCall {
  return Object.freeze({ ...call, argv: Object.freeze([...call.argv]), env: Object.freeze({ ...call.env }) });
}

/** What runs when nothing guards the tool: the binary itself, with the host's rights. */
const plain: Guard = {
  run: async (call: FrozenCall, host, _options: RunOptions): Promise<Outcome> => {
    const step = {
      kind: 'host',
      binary: call.binary.path,
      argv: call.argv,
      env: call.env,
      cwd: `/proc/${process.pid}/fd/${call.cwd.fd}`,
    } as const;
    const stdin = call.stdin === null ? {} : { stdin: Buffer.from(call.stdin) };
    return host.finish(await host.exec(step, { output: 'stream', ...stdin }));
  },
};

function guardOf(call: FrozenCall, guards: ExecutorOptions['guards']): Guard {
  if (call.guard === null) return plain;
  const guard = guards[call.guard];
  if (guard !== undefined) return guard;
  throw new WraptoolError('internal', `there is no guard '${call.guard}'`);
}

function busy(call: FrozenCall): Outcome {
  const detail = `${call.maxConcurrent} calls of '${call.tool}' are running and as many as may wait are waiting`;
  return { kind: 'refused', reason: 'busy', detail };
}
