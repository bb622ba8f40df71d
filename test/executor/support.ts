import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { resolveBinary } from '../../src/executor/binary.ts';
import { childEnvironment } from '../../src/executor/environment.ts';
import type { ScrubStream } from '../../src/executor/output.ts';
import { createExecutor, type ExecutorOptions } from '../../src/executor/run.ts';
import { startSpawner } from '../../src/executor/spawner.ts';
import type { Executor, FrozenCall, Outcome, OpenedDir, RunOptions } from '../../src/executor/types.ts';

export type Finished = Extract<Outcome, { kind: 'finished' }>;

export const through = (): ScrubStream => ({ push: (text) => text, end: () => '' });

export function startExecutor(t: TestContext, options: Partial<ExecutorOptions> = {}): Executor {
  const executor = createExecutor({
    spawner: startSpawner(),
    scrub: { stream: through },
    guards: {},
    ...options,
  });
  t.after(() => executor.close());
  return executor;
}

/** A program of test/fixtures/bin. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/bin/${name}`, import.meta.url));
}

export async function openDir(realPath: string): Promise<OpenedDir> {
  const handle = await open(realPath);
  return { fd: handle.fd, realPath, close: () => handle.close() };
}

export async function frozen(
  binary: string,
  argv: readonly string[],
  rest: Partial<FrozenCall> = {},
): Promise<FrozenCall> {
  return {
    tool: path.basename(binary),
    subcommand: [],
    binary: await resolveBinary(binary, []),
    argv,
    cwd: rest.cwd ?? (await openDir(tmpdir())),
    env: childEnvironment({ home: '/dev/null/home', configured: {} }),
    stdin: null,
    timeoutMs: 30_000,
    maxOutputBytes: 64 * 1024,
    maxConcurrent: 4,
    guard: null,
    guardOptions: { workspace: '/', remotes: {}, stateDir: '/', homeFiles: [], confine: 'auto' },
    ...rest,
  };
}

/** Runs to the end and closes the folder; a refusal is a failure of the test. */
export async function finish(
  executor: Executor,
  call: FrozenCall,
  options: Partial<RunOptions> = {},
): Promise<Finished> {
  const outcome = await executor.run(call, { signal: new AbortController().signal, ...options });
  await call.cwd.close();
  if (outcome.kind === 'refused') throw new Error(outcome.detail);
  return outcome;
}

export async function shell(
  executor: Executor,
  script: string,
  rest: Partial<FrozenCall> = {},
): Promise<Finished> {
  return await finish(executor, await frozen('/bin/sh', ['-c', script], rest));
}
