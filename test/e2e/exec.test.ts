/** `wraptool exec`: a command beside the harness, as `docker exec` would run it. */
import assert from 'node:assert/strict';
import { createConnection } from 'node:net';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { finish, seen, until } from './place.ts';
import { allRuntimes, live, oddSeconds, readyPlace, withMarker, type Live } from './session.ts';
import { main } from '../support/main.ts';

for (const { name: runtime, part } of allRuntimes) {
  describe(`exec in ${runtime}`, { timeout: 120_000, ...needs(part) }, () => {
    let session: Live;
    const cleanup: (() => unknown)[] = [];
    before(async () => {
      // The session outlives each test: it ends with the last.
      const context = { after: (run: () => unknown) => void cleanup.unshift(run) } as never;
      session = await live(context, runtime);
    });
    after(async () => {
      for (const run of cleanup) await run();
    });
    const exec = (words: readonly string[], input?: string) =>
      session.where.wraptool(['exec', 'life', '--', ...words], input === undefined ? {} : { input });

    for (const code of [0, 1, 42, 125, 130, 143])
      void test(`exit code ${code} is the command's`, async () => {
        assert.equal((await exec(['sh', '-c', `exit ${code}`])).code, code);
      });

    void test('it runs in the workspace, with the harness’s HOME, gateway and token, and its streams are apart', async () => {
      const script =
        'pwd; echo "$HOME"; test -S /run/wraptool/gateway.sock && echo socket; test -n "$WRAPTOOL_TOKEN" && echo token; echo err >&2';
      const { code, stdout, stderr } = await exec(['sh', '-c', script]);
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 0, stdout: `${session.where.workspace}\n/home/agent\nsocket\ntoken\n`, stderr: 'err\n' },
      );
    });

    void test('stdin reaches it whole, and its end', async () => {
      const text = randomBytes(1_500_000).toString('base64');
      const { code, stdout } = await exec(['cat'], text);
      assert.equal(code, 0);
      assert.ok(stdout === text);
    });

    void test('--cwd is where it starts', async () => {
      const { stdout } = await session.where.wraptool(['exec', '--cwd', '/home/agent', 'life', '--', 'pwd']);
      assert.equal(stdout, '/home/agent\n');
    });

    void test('a command that is not there ends with 127 and says so', async () => {
      const { code, stderr, stdout } = await exec(['no-such-command']);
      assert.equal(code, 127);
      assert.match(stderr + stdout, /no-such-command.*not found/);
    });

    void test('SIGTERM and SIGINT to it are the command’s', async () => {
      for (const [signal, expected] of [
        ['SIGTERM', 7],
        ['SIGINT', 8],
      ] as const) {
        const script = `trap 'exit 7' TERM; trap 'exit 8' INT; echo up; while :; do sleep 0.05; done`;
        const child = session.where.start(['exec', 'life', '--', 'sh', '-c', script]);
        const result = finish(child, '');
        await seen(child.stdout, /up/);
        child.kill(signal);
        assert.equal((await result).code, expected);
      }
    });

    for (const signal of ['SIGKILL', 'SIGHUP'] as const)
      void test(`a ${signal} of the exec leaves no command behind, even a deaf one`, async () => {
        const marker = oddSeconds();
        const script = `trap '' HUP TERM; echo up; sleep ${marker}; sleep ${marker}`;
        const child = session.where.start(['exec', 'life', '--', 'sh', '-c', script]);
        const result = finish(child, '');
        await seen(child.stdout, /up/);
        child.kill(signal);
        const { code } = await result;
        assert.equal(code, signal === 'SIGKILL' ? null : 129);
        await until('the command is gone', async () => (await withMarker(marker)).length === 0);
      });

    void test(
      'in a terminal it has one: size, resize, Ctrl-C, TERM and exit code',
      needs('tmux'),
      async (t) => {
        const { env } = session.where;
        const script = `stty size; echo "$TERM"; trap 'stty size' WINCH; trap 'echo stopped; exit 42' INT; echo up; while :; do sleep 0.05; done`;
        const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
        const command = [
          'env',
          '-i',
          ...words,
          process.execPath,
          main,
          'exec',
          'life',
          '--',
          'sh',
          '-c',
          script,
        ];
        const quoted = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
        const terminal = new Terminal({ columns: 90, rows: 30 }, [
          `${quoted}; echo "ended $?"; stty -a | grep -o " echo "; sleep 100`,
        ]);
        t.after(() => terminal.close());
        await terminal.shows(/30 90\s+xterm-256color\s+up/);
        terminal.resize({ columns: 71, rows: 22 });
        await terminal.shows(/22 71/);
        terminal.keys('C-c');
        await terminal.shows(/stopped\s+ended 42\s+echo/);
      },
    );

    void test('the control socket is the operator’s alone and not inside', async () => {
      const socket = path.join(session.dir, 'control.sock');
      const stats = await lstat(socket);
      assert.deepEqual(
        { mode: stats.mode & 0o777, uid: stats.uid, kind: stats.isSocket() },
        { mode: 0o600, uid: process.getuid?.(), kind: true },
      );
      const { stdout } = await exec([
        'sh',
        '-c',
        `ls /run/wraptool; ls '${session.dir}' 2>/dev/null; test -e '${socket}' && echo there; find / -name control.sock 2>/dev/null`,
      ]);
      assert.equal(stdout, 'gateway.sock\n');
    });

    for (const [what, line] of [
      ['no JSON', 'hello'],
      ['an unknown request', '{"do":"toString"}'],
      ['no command', '{"do":"exec","command":[],"cwd":null,"terminal":null}'],
      ['a command that is no list of words', '{"do":"exec","command":["a",1],"cwd":null,"terminal":null}'],
      ['a relative folder', '{"do":"exec","command":["a"],"cwd":"b","terminal":null}'],
      [
        'an impossible terminal',
        '{"do":"exec","command":["a"],"cwd":null,"terminal":{"rows":-1,"columns":2}}',
      ],
    ] as const)
      void test(`a request with ${what} is refused with an error`, async () => {
        const socket = createConnection(path.join(session.dir, 'control.sock'));
        socket.end(`${line}\n`);
        let said = '';
        for await (const chunk of socket.setEncoding('utf8') as AsyncIterable<string>) said += chunk;
        assert.equal((JSON.parse(said) as { error: { code: string } }).error.code, 'usage');
      });
  });

  void test(`${runtime}: down ends a command that exec runs, with 137`, needs(part), async (t) => {
    const session = await live(t, runtime);
    const marker = oddSeconds();
    const child = session.where.start([
      'exec',
      'life',
      '--',
      'sh',
      '-c',
      `trap '' TERM HUP; echo up; sleep ${marker}; sleep ${marker}`,
    ]);
    const result = finish(child, '');
    await seen(child.stdout, /up/);
    assert.equal((await session.where.wraptool(['down', 'life'])).code, 0);
    assert.equal((await result).code, 137);
    assert.deepEqual(
      { left: await withMarker(marker), dir: existsSync(session.dir) },
      { left: [], dir: false },
    );
  });

  void test(`${runtime}: SIGKILL of the supervisor ends what exec runs`, needs(part), async (t) => {
    const session = await live(t, runtime);
    const marker = oddSeconds();
    const child = session.where.start(['exec', 'life', '--', 'sh', '-c', `echo up; sleep ${marker}`]);
    const result = finish(child, '');
    await seen(child.stdout, /up/);
    session.child.kill('SIGKILL');
    assert.equal((await result).code, 137);
    await until('nothing is left', async () => (await withMarker(marker)).length === 0);
  });
}

void test('exec without such a session, or with a reserved or impossible name, is a usage error', async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  for (const name of ['nobody', 'all', 'policy', '../x', 'A'])
    for (const words of [
      ['exec', name, '--', 'true'],
      ['exec', '--json', name, '--', 'true'],
    ]) {
      const { code, stderr, stdout } = await where.wraptool(words);
      assert.equal(code, 2, name);
      if (words.includes('--json')) assert.match(stdout, /^\{"error":\{"code":"(usage|session_unknown)"/);
      else assert.match(stderr, /^error: .*\nhint: /);
    }
});

void test('exec in a session whose supervisor does not answer is 125', needs('bubblewrap'), async (t) => {
  const session = await live(t, 'bubblewrap');
  const { unlink } = await import('node:fs/promises');
  await unlink(path.join(session.dir, 'control.sock'));
  const { code, stderr } = await session.where.wraptool(['exec', 'life', '--', 'true']);
  assert.equal(code, 125);
  assert.match(stderr, /the supervisor of "life" does not answer/);
});
