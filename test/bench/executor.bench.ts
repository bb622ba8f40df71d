/**
 * What a call costs through the executor, beside the same program started by a bare process, call by call in turn:
 * alone, confined, and with 200 MiB of ballast. Run: node test/bench/executor.bench.ts [CALLS]
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveBinary } from '../../src/executor/binary.ts';
import { childEnvironment } from '../../src/executor/environment.ts';
import { gitGuard } from '../../src/executor/guards/git.ts';
import { createExecutor } from '../../src/executor/run.ts';
import { startSpawner, type SpawnRequest, type Spawner } from '../../src/executor/spawner.ts';
import type { Executor, FrozenCall } from '../../src/executor/types.ts';
import { createScrubber } from '../../src/scrub/scrubber.ts';
import type { Order } from './bare.ts';
import { interleaved, say } from './measure.ts';

const calls = Number(process.argv[2] ?? 200);
const root = realpathSync(mkdtempSync(join(tmpdir(), 'wraptool-bench-')));
const repo = join(root, 'repo');
const spawner = startSpawner();
const bare = fork(fileURLToPath(new URL('bare.ts', import.meta.url)));

/** What the guard asked for last, to be started directly too. */
let confined: Extract<SpawnRequest, { kind: 'confined' }> | null = null;
const watched: Spawner = {
  start: (request, stdin, sinks) => {
    if (request.kind === 'confined') confined = request;
    return spawner.start(request, stdin, sinks);
  },
  close: () => spawner.close(),
};

function direct(order: Order): () => Promise<void> {
  return async () => {
    bare.send(order);
    await once(bare, 'message');
  };
}

function makeRepository(): void {
  mkdirSync(repo);
  for (let index = 0; index < 60; index++) writeFileSync(join(repo, `file${index}.txt`), `${index}\n`);
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@x', ...args], { cwd: repo });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'x');
}

async function frozen(
  file: string,
  argv: readonly string[],
  guard: FrozenCall['guard'],
): Promise<FrozenCall> {
  const handle = await open(repo);
  return {
    tool: file,
    subcommand: [],
    binary: await resolveBinary(file, []),
    argv,
    cwd: { fd: handle.fd, realPath: repo, close: () => handle.close() },
    env: childEnvironment({ home: '/', configured: {} }),
    stdin: null,
    timeoutMs: 10_000,
    maxOutputBytes: 1024 * 1024,
    maxConcurrent: 8,
    guard,
    guardOptions: {
      workspace: repo,
      remotes: {},
      stateDir: join(root, 'state'),
      homeFiles: [],
      confine: 'auto',
    },
  };
}

function through(executor: Executor, call: FrozenCall): () => Promise<void> {
  return async () => {
    const outcome = await executor.run(call, { signal: new AbortController().signal });
    if (outcome.kind !== 'finished' || outcome.exitCode !== 0) throw new Error(JSON.stringify(outcome));
  };
}

try {
  makeRepository();
  const scrub = createScrubber({ literals: [], patterns: [] });
  const executor = createExecutor({ spawner: watched, scrub, guards: { git: gitGuard } });
  const plain = through(executor, await frozen('/usr/bin/true', [], null));
  const status = ['status', '--short'];
  const guarded = through(executor, await frozen('/usr/bin/git', status, 'git'));
  const unguarded = through(executor, await frozen('/usr/bin/git', status, null));

  const alone = await interleaved(
    { direct: direct({ file: '/usr/bin/true', args: [], cwd: repo }), executor: plain },
    calls,
  );
  say({ what: '`true` through the executor / raw spawn', value: alone.executor / alone.direct });

  const git = await interleaved(
    { direct: direct({ file: '/usr/bin/git', args: status, cwd: repo }), executor: unguarded },
    calls,
  );
  say({
    id: 'G3',
    what: '`git status` without a guard through the executor / direct',
    value: git.executor / git.direct,
    must: 1.8,
    aim: 1.4,
  });

  await guarded();
  if (confined === null) throw new Error('the guard confined nothing');
  const { spec, command } = confined as Extract<SpawnRequest, { kind: 'confined' }>;
  const box = await interleaved({ direct: direct({ spec, command }), executor: guarded }, calls);
  say({ what: '`git status`, confined, directly', value: box.direct, unit: ' ms' });
  say({
    id: 'G3',
    what: '`git status` guarded / the same confined command directly',
    value: box.executor / box.direct,
    must: 1.8,
    aim: 1.4,
  });

  const light = await interleaved({ executor: plain }, calls);
  const ballast = Buffer.alloc(200 * 1024 * 1024, 1);
  const heavy = await interleaved({ executor: plain }, calls);
  say({
    id: 'G7',
    what: `\`true\` with ${ballast.length >> 20} MiB of ballast / without`,
    value: heavy.executor / light.executor,
    must: 3,
    aim: 1.3,
  });
  await executor.close();
} finally {
  bare.kill();
  rmSync(root, { recursive: true, force: true });
}
