import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { startProcess, stopProcess, type ServerProcess } from '../../src/executor/server-process.ts';

const grace = { closeMs: 150, termMs: 150 };

async function run(
  script: string,
  keeper: boolean,
): Promise<{ server: ServerProcess; out: Promise<string> }> {
  const server = await startProcess(
    {
      file: '/bin/sh',
      argv0: 'the name',
      args: ['-c', script],
      env: { A: 'b=c', EMPTY: '', LINES: 'ü\n' },
      cwd: os.tmpdir(),
    },
    { keeper },
  );
  const text = async () => {
    let all = '';
    for await (const chunk of server.stdout) all += String(chunk);
    return all;
  };
  return { server, out: text() };
}

/** One that nobody has waited for yet counts as gone. */
function isGone(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return true;
  }
}

for (const keeper of [true, false]) {
  const title = (text: string) => `${keeper ? 'kept' : 'alone'}: ${text}`;

  void test(
    title('it has its own group, the environment that was given, its name and its folder'),
    async () => {
      const { server, out } = await run(
        'echo "$0|$A|$EMPTY|$LINES|$PWD"; ps -o pgid= -p $$; echo $$',
        keeper,
      );
      await server.ended;
      const [first, second, group, pid] = (await out).trim().split('\n');
      assert.equal(`${first}\n${second}`, `the name|b=c||ü\n|${os.tmpdir()}`);
      assert.deepEqual([Number(group), Number(pid)], [server.pid, server.pid]);
    },
  );

  for (const [script, ended] of [
    ['exit 0', { code: 0, signal: null }],
    ['exit 3', { code: 3, signal: null }],
    ['kill -SEGV $$', { code: null, signal: 'SIGSEGV' }],
  ] as const)
    void test(title(`the end of '${script}' is told`), async () => {
      const { server } = await run(script, keeper);
      assert.deepEqual(await server.ended, ended);
    });

  void test(title('what it wrote last is read before its end is told'), async () => {
    const { server, out } = await run('head -c 200000 /dev/zero | tr "\\0" x; exit 1', keeper);
    await server.ended;
    assert.equal((await out).length, 200_000);
  });

  void test(title('it ends with its input, then by TERM, then by KILL'), async () => {
    const how = async (script: string) => {
      const { server, out } = await run(`${script}; echo done`, keeper);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await stopProcess(server, grace);
      await out;
      assert.ok(isGone(server.pid));
      return await server.ended;
    };
    assert.deepEqual(await how('cat'), { code: 0, signal: null });
    assert.deepEqual(await how('sleep 600'), { code: null, signal: 'SIGTERM' });
    assert.deepEqual(await how("trap '' TERM; sleep 600"), { code: null, signal: 'SIGKILL' });
  });

  void test(title('a child that holds its output open ends with it'), async () => {
    const { server, out } = await run("(trap '' TERM; sleep 600) & echo $!; exit 0", keeper);
    await server.ended;
    const child = Number(await out);
    for (let tries = 0; !isGone(child) && tries < 500; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(isGone(child));
  });

  void test(title('a program that is not there is an error'), async () => {
    const none = path.join(import.meta.dirname, 'none');
    const spec = { file: none, argv0: 'x', args: [], env: {}, cwd: none };
    await assert.rejects(startProcess(spec, { keeper }), { code: 'binary_invalid' });
  });
}

void test('no descriptor that this process was started with reaches it', async () => {
  const file = path.join(import.meta.dirname, '..', 'fixtures', 'bin', 'list-descriptors.ts');
  const open = openSync('/etc/hostname', 'r');
  const child = spawn(process.execPath, [file], {
    stdio: ['ignore', 'pipe', 'inherit', open, 'ignore', open, open],
  });
  const [out] = (await once(child.stdout!, 'data')) as [Buffer];
  assert.equal(String(out).includes('hostname'), false, String(out));
});
