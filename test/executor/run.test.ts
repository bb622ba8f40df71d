import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ConfineSpec } from '../../src/confine/types.ts';
import type { Guard, StepOptions } from '../../src/executor/guards/guard.ts';
import type { ScrubStream } from '../../src/executor/output.ts';
import { needs } from '../support/real.ts';
import { finish, frozen, openDir, shell, startExecutor } from './support.ts';
import { scratch } from '../support/scratch.ts';

/** Resolves once no process has this word on its command line. */
async function noneWith(word: string): Promise<void> {
  while ((await processesWith(word)) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function processesWith(word: string): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(ignoreGone)),
  );
  return lines.filter((line) => line.includes(word)).length;
}

function ignoreGone(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' || error.code === 'ESRCH') return '';
  throw error;
}

let marks = 0;
/** A number of seconds that no other process sleeps. */
function mark(): string {
  return `${100_000 + process.pid}.${++marks}`;
}

test('an outcome has all that a command did', async (t) => {
  const executor = startExecutor(t);
  const { durationMs, ...rest } = await shell(executor, 'echo out; echo err >&2; exit 3');
  assert.ok(durationMs >= 0);
  assert.deepEqual(rest, {
    kind: 'finished',
    exitCode: 3,
    signal: null,
    timedOut: false,
    cancelled: false,
    stdout: 'out\n',
    stderr: 'err\n',
    truncated: false,
    notes: [],
  });
  assert.equal((await shell(executor, 'kill -SEGV $$')).signal, 'SIGSEGV');
});

test('arguments reach the program as they are, and no shell sees them', async (t) => {
  const executor = startExecutor(t);
  const argv = ['%s|', '$(id)', '`id`', 'a b', '', "'", '"', '\\', ';true', '*', 'é\n'];
  const { stdout } = await finish(executor, await frozen('/usr/bin/printf', argv));
  assert.equal(
    stdout,
    argv
      .slice(1)
      .map((word) => `${word}|`)
      .join(''),
  );
});

test('EXEC-002: stdin is empty unless the call has one', async (t) => {
  const executor = startExecutor(t);
  assert.equal((await finish(executor, await frozen('/bin/cat', []))).stdout, '');
  assert.equal((await shell(executor, 'readlink /proc/self/fd/0')).stdout, '/dev/null\n');
  const stdin = `é${'x'.repeat(200_000)}`;
  const call = await frozen('/bin/cat', [], { stdin, maxOutputBytes: 1_000_000 });
  assert.equal((await finish(executor, call)).stdout, stdin);
  assert.equal((await finish(executor, await frozen('/bin/true', [], { stdin }))).exitCode, 0);
});

test('EXEC-003: there is no terminal', async (t) => {
  const executor = startExecutor(t);
  const { stdout } = await shell(
    executor,
    'test -t 0 || test -t 1 || test -t 2 || echo none; (: </dev/tty) 2>/dev/null || echo no tty',
  );
  assert.equal(stdout, 'none\nno tty\n');
});

test('a child has no descriptor beyond its three streams', async (t) => {
  const executor = startExecutor(t);
  const { stdout } = await shell(executor, 'for f in /proc/self/fd/*; do readlink $f; done');
  const others = stdout
    .split('\n')
    .filter((line) => !/^(socket:.*|\/dev\/null|\/proc\/\d+\/fd|)$/.test(line));
  assert.deepEqual(others, []);
});

test('a child starts in the opened folder', async (t) => {
  const executor = startExecutor(t);
  const cwd = await openDir(scratch());
  assert.equal((await shell(executor, 'pwd -P', { cwd })).stdout, `${cwd.realPath}\n`);
});

test('output is scrubbed, on both streams and in progress', async (t) => {
  const stream = (): ScrubStream => ({ push: (text) => text.replaceAll('secret', '***'), end: () => '' });
  const executor = startExecutor(t, { scrub: { stream } });
  const lines: string[] = [];
  const call = await frozen('/bin/sh', ['-c', 'echo my secret; echo a secret >&2']);
  const { stdout, stderr } = await finish(executor, call, { onLine: (line) => lines.push(line) });
  assert.deepEqual([stdout, stderr], ['my ***\n', 'a ***\n']);
  assert.deepEqual(lines.join('\n').split('\n').toSorted(), ['a ***', 'my ***']);
});

test('progress joins lines that come fast', async (t) => {
  const executor = startExecutor(t);
  const messages: string[] = [];
  await finish(executor, await frozen('/usr/bin/seq', ['1', '5000']), {
    onLine: (line) => messages.push(line),
  });
  assert.ok(messages.length < 20, `${messages.length}`);
  assert.ok(messages.at(-1)!.endsWith('\n5000'));
});

test('100 MB of output pass without memory growing', async (t) => {
  const executor = startExecutor(t);
  await shell(executor, 'yes line of output | head -c 20000000');
  const before = process.memoryUsage().rss;
  const { stdout, truncated } = await shell(executor, 'yes line of output | head -c 100000000');
  const grown = process.memoryUsage().rss - before;
  assert.ok(truncated && stdout.length < 70_000);
  assert.match(stdout, /\n\[999\d{5} bytes left out\]\n/);
  assert.ok(grown < 40e6, `${grown}`);
});

test('at the end of its time a command gets TERM and may tidy up', async (t) => {
  const executor = startExecutor(t);
  const script = 'trap "echo tidied; exit 5" TERM; echo up; while :; do sleep 0.05; done';
  const { exitCode, timedOut, stdout } = await shell(executor, script, { timeoutMs: 3000 });
  assert.deepEqual({ exitCode, timedOut, stdout }, { exitCode: 5, timedOut: true, stdout: 'up\ntidied\n' });
});

test('what ignores TERM gets KILL two seconds later, its whole group', async (t) => {
  const executor = startExecutor(t);
  const time = mark();
  const script = `trap "" TERM; sleep ${time} & sleep ${time}; sleep ${time}`;
  const { signal, timedOut, durationMs } = await shell(executor, script, { timeoutMs: 2000 });
  assert.deepEqual({ signal, timedOut }, { signal: 'SIGKILL', timedOut: true });
  assert.ok(durationMs >= 4000 && durationMs < 20_000, `${durationMs}`);
  await noneWith(time);
});

test('a client that cancels ends the command', async (t) => {
  const executor = startExecutor(t);
  const time = mark();
  const abort = new AbortController();
  const call = await frozen('/bin/sh', ['-c', `echo up; sleep ${time}`]);
  const { cancelled, timedOut, signal } = await finish(executor, call, {
    signal: abort.signal,
    onLine: () => abort.abort(),
  });
  assert.deepEqual({ cancelled, timedOut, signal }, { cancelled: true, timedOut: false, signal: 'SIGTERM' });
  await noneWith(time);
});

test('a call that was cancelled before it began does not run', async (t) => {
  const executor = startExecutor(t);
  const { cancelled, exitCode, stdout } = await finish(executor, await frozen('/bin/echo', ['ran']), {
    signal: AbortSignal.abort(),
  });
  assert.deepEqual({ cancelled, exitCode, stdout }, { cancelled: true, exitCode: null, stdout: '' });
});

const escapes: [string, (time: string) => string][] = [
  ['a background process', (time) => `sleep ${time} & echo up`],
  ['one that holds its output open', (time) => `sleep ${time} & exec true`],
  ['a session of its own', (time) => `setsid sleep ${time} >/dev/null 2>&1 & sleep 0.1`],
  [
    'a double fork into a session of its own',
    (time) => `(setsid sh -c 'sleep ${time} & exec sleep ${time}' >/dev/null 2>&1 &); sleep 0.1`,
  ],
  [
    'one that ignores every signal',
    (time) => `(setsid sh -c 'trap "" TERM HUP INT; sleep ${time} & wait' &); sleep 0.1`,
  ],
  [
    'one without the environment',
    (time) => `(setsid env -i /bin/sleep ${time} </dev/null >/dev/null 2>&1 &); sleep 0.1`,
  ],
];
for (const [name, script] of escapes) {
  test(`nothing is left behind: ${name}`, async (t) => {
    const executor = startExecutor(t);
    const time = mark();
    const { exitCode, durationMs } = await shell(executor, script(time));
    assert.equal(exitCode, 0);
    assert.equal(await processesWith(time), 0);
    assert.ok(durationMs < 20_000);
  });
}

test('an orphan is ended at the latest with the calls that are older than it', async (t) => {
  const executor = startExecutor(t);
  const [time, other] = [mark(), mark()];
  const abort = new AbortController();
  const older = finish(executor, await frozen('/bin/sh', ['-c', `echo up; sleep ${other}`]), {
    signal: abort.signal,
    onLine: () => started.resolve(),
  });
  const started = Promise.withResolvers<void>();
  await started.promise;
  await shell(executor, `(setsid sleep ${time} >/dev/null 2>&1 &); sleep 0.1`);
  assert.equal(await processesWith(other), 2, 'the other call still runs');
  abort.abort();
  await older;
  assert.equal(await processesWith(time), 0);
});

test('at most so many at once, the others in turn, then busy', async (t) => {
  const executor = startExecutor(t);
  const dir = scratch();
  const cwd = await openDir(dir);
  const script = 'ls | wc -l > seen.$$; mkdir run.$$; sleep 0.05; rmdir run.$$';
  const call = await frozen('/bin/sh', ['-c', script], { cwd, maxConcurrent: 2 });
  const options = { signal: new AbortController().signal };
  const outcomes = await Promise.all(Array.from({ length: 19 }, () => executor.run(call, options)));
  const kinds = outcomes.map((one) => (one.kind === 'refused' ? one.reason : one.kind));
  assert.deepEqual(kinds, [...Array.from({ length: 18 }, () => 'finished'), 'busy']);
  assert.equal((await executor.run(call, options)).kind, 'finished');
  await cwd.close();
});

test('calls of different tools do not wait for each other', async (t) => {
  const executor = startExecutor(t);
  const abort = new AbortController();
  const slow = executor.run(await frozen('/bin/sleep', ['100'], { maxConcurrent: 1 }), {
    signal: abort.signal,
  });
  assert.equal((await finish(executor, await frozen('/bin/true', [], { maxConcurrent: 1 }))).exitCode, 0);
  abort.abort();
  await slow;
});

test('one that waits can be cancelled, and its place is not lost', async (t) => {
  const executor = startExecutor(t);
  const [first, second] = [new AbortController(), new AbortController()];
  const call = await frozen('/bin/sleep', ['100'], { maxConcurrent: 1 });
  const running = executor.run(call, { signal: first.signal });
  const waiting = executor.run(call, { signal: second.signal });
  second.abort();
  const outcome = await waiting;
  assert.equal(outcome.kind === 'finished' && outcome.cancelled, true);
  first.abort();
  await running;
  assert.equal(
    (await finish(executor, { ...(await frozen('/bin/true', [])), tool: 'sleep', maxConcurrent: 1 }))
      .exitCode,
    0,
  );
});

test('close ends every child and the helper', async (t) => {
  const executor = startExecutor(t);
  const time = mark();
  const call = await frozen('/bin/sh', [
    '-c',
    `(setsid sleep ${time} &); trap "" TERM; echo up; sleep ${time}`,
  ]);
  const started = Promise.withResolvers<void>();
  const running = executor.run(call, {
    signal: new AbortController().signal,
    onLine: () => started.resolve(),
  });
  await started.promise;
  const ended = assert.rejects(running, { code: 'internal' });
  await executor.close();
  await ended;
  await noneWith(time);
  await assert.rejects(executor.run(call, { signal: new AbortController().signal }), { code: 'internal' });
  await call.cwd.close();
});

test('RACE-008: what is changed in a call after it was handed over does not run', async (t) => {
  const executor = startExecutor(t);
  const argv = ['fine'];
  const env = { A: 'fine' };
  const call = await frozen('/bin/sh', ['-c', 'echo $0 $1 $A', ...argv], { env });
  const given = { ...call, argv: [...call.argv] };
  const running = executor.run(given, { signal: new AbortController().signal });
  given.argv.push('--force');
  env.A = 'evil';
  const outcome = await running;
  assert.equal(outcome.kind === 'finished' && outcome.stdout, 'fine fine\n');
  await call.cwd.close();
});

/** The helper process of this one. */
async function helperPid(): Promise<number> {
  const pids = (await readFile(`/proc/self/task/${process.pid}/children`, 'utf8')).split(' ').filter(Boolean);
  for (const pid of pids) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes('spawner-child')) return Number(pid);
  }
  throw new Error('there is no helper');
}

test('when the helper is killed its calls fail, their processes end, and the next call works', async (t) => {
  const executor = startExecutor(t);
  const time = mark();
  const started = Promise.withResolvers<void>();
  const call = await frozen('/bin/sh', ['-c', `trap "" TERM; sleep ${time} & echo up; wait`]);
  const running = executor.run(call, {
    signal: new AbortController().signal,
    onLine: () => started.resolve(),
  });
  await started.promise;
  const failed = assert.rejects(running, { code: 'internal' });
  process.kill(await helperPid(), 'SIGKILL');
  await failed;
  await noneWith(time);
  assert.equal((await shell(executor, 'exit 6')).exitCode, 6);
});

test('when the gateway is killed nothing that it started outlives it', async (t) => {
  const time = mark();
  const gateway = spawn(process.execPath, [fileURLToPath(new URL('./gateway.ts', import.meta.url)), time], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => gateway.kill('SIGKILL'));
  await once(gateway.stdout, 'data');
  assert.ok((await processesWith(time)) >= 3);
  gateway.kill('SIGKILL');
  await noneWith(time);
});

test('a helper that gathered many dead orphans is replaced, and no call fails for it', async (t) => {
  const executor = startExecutor(t);
  await shell(executor, 'true');
  const first = await helperPid();
  const script = 'i=0; while [ $i -lt 300 ]; do (setsid true &); i=$((i+1)); done; sleep 0.2';
  assert.equal((await shell(executor, script)).exitCode, 0);
  assert.equal((await shell(executor, 'echo fine')).stdout, 'fine\n');
  assert.notEqual(await helperPid(), first);
});

const sandbox: ConfineSpec = {
  readOnly: [],
  writable: [],
  cwd: '/tmp',
  env: { PATH: '/usr/bin:/bin' },
  network: 'none',
  terminal: false,
};

function confinedGuard(script: string, options: StepOptions = {}): Guard {
  return {
    run: async (_call, host) => {
      const result = await host.exec(
        { kind: 'confined', spec: sandbox, command: ['/bin/sh', '-c', script] },
        options,
      );
      if (options.output !== 'stream') host.write('stdout', `captured ${result.stdout.toString()}`);
      return host.finish(result, ['confined']);
    },
  };
}

test('a guard runs steps in a sandbox and makes the outcome', needs('bubblewrap'), async (t) => {
  const executor = startExecutor(t, { guards: { git: confinedGuard('echo $$ in; exit 4') } });
  const { exitCode, stdout, notes } = await finish(executor, await frozen('/bin/true', [], { guard: 'git' }));
  assert.deepEqual({ exitCode, notes }, { exitCode: 4, notes: ['confined'] });
  assert.match(stdout, /^captured \d in\n$/);
});

test(
  'a step in a sandbox streams, takes input and is ended in time with all that is in it',
  needs('bubblewrap'),
  async (t) => {
    const time = mark();
    const script = `cat; (setsid sleep ${time} &); trap "" TERM; sleep ${time}`;
    const options: StepOptions = { output: 'stream', stdin: Buffer.from('given\n') };
    const executor = startExecutor(t, { guards: { git: confinedGuard(script, options) } });
    const { stdout, timedOut } = await finish(
      executor,
      await frozen('/bin/true', [], { guard: 'git', timeoutMs: 4000 }),
    );
    assert.deepEqual({ stdout, timedOut }, { stdout: 'given\n', timedOut: true });
    await noneWith(time);
  },
);

test('a private network works in a step', needs('bubblewrap', 'root', 'network-private'), async (t) => {
  const guard: Guard = {
    run: async (_call, host) => {
      const step = {
        kind: 'confined',
        spec: { ...sandbox, network: 'private' },
        command: ['/bin/cat', '/proc/net/route'],
      } as const;
      return host.finish(await host.exec(step, { output: 'stream' }));
    },
  };
  const executor = startExecutor(t, { guards: { git: guard } });
  const calls = Array.from({ length: 3 }, async () =>
    finish(executor, await frozen('/bin/true', [], { guard: 'git' })),
  );
  for (const { stdout } of await Promise.all(calls)) assert.match(stdout, /tap0/);
});

test('a sandbox that fails is an error, not an exit code, and says why', needs('bubblewrap'), async (t) => {
  const spec = { ...sandbox, readOnly: [{ source: '/no/such', target: '/x' }] };
  const guard: Guard = {
    run: async (_call, host) =>
      host.finish(await host.exec({ kind: 'confined', spec, command: ['/bin/true'] })),
  };
  const executor = startExecutor(t, { guards: { git: guard } });
  await assert.rejects(finish(executor, await frozen('/bin/true', [], { guard: 'git' })), {
    code: 'runtime_failed',
    message: /\/no\/such/,
  });
});

test('a step captures no more than it may, and a guard that throws leaves nothing running', async (t) => {
  const time = mark();
  const host = { kind: 'host', binary: '/bin/sh', env: { PATH: '/usr/bin:/bin' }, cwd: '/' } as const;
  const guard: Guard = {
    run: async (_call, guardHost) => {
      const result = await guardHost.exec(
        { ...host, argv: ['-c', 'head -c 5000 /dev/zero'] },
        { maxBytes: 1000 },
      );
      assert.deepEqual([result.stdout.length, result.truncated], [1000, true]);
      const short = await guardHost.exec({ ...host, argv: ['-c', 'sleep 100'] }, { timeoutMs: 100 });
      assert.deepEqual([short.timedOut, short.signal], [true, 'SIGTERM']);
      void guardHost.exec({ ...host, argv: ['-c', `sleep ${time}`] });
      throw new Error('on purpose');
    },
  };
  const executor = startExecutor(t, { guards: { git: guard } });
  await assert.rejects(finish(executor, await frozen('/bin/true', [], { guard: 'git' })), /on purpose/);
  assert.equal(await processesWith(time), 0);
});

test('a call whose guard is not there does not run unguarded', async (t) => {
  const executor = startExecutor(t);
  await assert.rejects(finish(executor, await frozen('/bin/true', [], { guard: 'git' })), {
    code: 'internal',
  });
});
