/**
 * What a call of `true` costs through the executor, as ratios of a raw spawn in a bare process, interleaved.
 *
 *   node test/bench/executor.bench.ts [CALLS]
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { resolveBinary } from '../../src/executor/binary.ts';
import { childEnvironment } from '../../src/executor/environment.ts';
import { createExecutor } from '../../src/executor/run.ts';
import { startSpawner } from '../../src/executor/spawner.ts';
import type { FrozenCall } from '../../src/executor/types.ts';

const calls = Number(process.argv[2] ?? 200);
const file = '/usr/bin/true';

if (process.argv[2] === 'bare') bare();
else await main();

/** A process that does nothing but spawn, when told to. */
function bare(): void {
  process.on('message', () => {
    const started = performance.now();
    spawn(file, { stdio: ['ignore', 'pipe', 'pipe'], env: {} }).on('close', () => {
      process.send!(performance.now() - started);
    });
  });
}

async function main(): Promise<void> {
  const spawner = startSpawner();
  const executor = createExecutor({
    spawner,
    scrub: { stream: () => ({ push: (text) => text, end: () => '' }) },
    guards: {},
  });
  const raw = fork(fileURLToPath(import.meta.url), ['bare']);
  const call = await frozenCall();
  const through = async (): Promise<number> => {
    const started = performance.now();
    await executor.run(call, { signal: new AbortController().signal });
    return performance.now() - started;
  };
  const flat = await compare(raw, through);
  const ballast = Buffer.alloc(200 * 1024 * 1024, 1);
  const heavy = await compare(raw, through);
  console.log(`raw ${ms(flat.raw)}, executor ${ms(flat.through)}: ${ratio(flat.through, flat.raw)}`);
  console.log(
    `with ${ballast.length >> 20} MiB of ballast ${ms(heavy.through)}: ${ratio(heavy.through, flat.through)} of without`,
  );
  const parallel = performance.now();
  await Promise.all(Array.from({ length: 64 }, through));
  console.log(`64 at once: ${Math.round(64_000 / (performance.now() - parallel))} calls/s`);
  raw.kill();
  await executor.close();
}

async function frozenCall(): Promise<FrozenCall> {
  const handle = await open(tmpdir());
  return {
    tool: 'true',
    subcommand: [],
    binary: await resolveBinary(file, []),
    argv: [],
    cwd: { fd: handle.fd, realPath: tmpdir(), close: () => handle.close() },
    env: childEnvironment({ home: '/', configured: {} }),
    stdin: null,
    timeoutMs: 10_000,
    maxOutputBytes: 1024 * 1024,
    maxConcurrent: 8,
    guard: null,
    guardOptions: { workspace: '/', remotes: {}, stateDir: '/', homeFiles: [], confine: 'auto' },
  };
}

/** Medians, call by call in turn, because the machine's load changes. */
async function compare(
  raw: ChildProcess,
  through: () => Promise<number>,
): Promise<{ raw: number; through: number }> {
  const times = { raw: [] as number[], through: [] as number[] };
  for (let index = 0; index < calls; index++) {
    raw.send('go');
    const [took] = await once(raw, 'message');
    times.raw.push(took as number);
    times.through.push(await through());
  }
  return { raw: median(times.raw), through: median(times.through) };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;
}

function ms(number: number): string {
  return `${number.toFixed(2)} ms`;
}

function ratio(a: number, b: number): string {
  return `${(a / b).toFixed(2)} times`;
}
