import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { isAlive, type ProcessRef } from '../../src/supervise/process.ts';
import { pathWithGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';
import { finish, gitConfig, place, seen, until, type Place } from './place.ts';

type State = {
  supervisor: ProcessRef;
  gateway: ProcessRef;
  facts: Record<string, string | number>;
};

const runtimes = [
  { name: 'guix', part: 'guix' },
  { name: 'bubblewrap', part: 'bubblewrap' },
  { name: 'devcontainer', part: 'docker' },
] as const;

async function ready(t: test.TestContext): Promise<Place> {
  const where = await place(t);
  where.env['PATH'] = pathWithGuix(where.env['PATH']);
  await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
  return where;
}

function sessionDir(where: Place, name: string): string {
  return path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool', name);
}

/** Ids; the engine removes one a moment after it ended, and its name is taken until then. */
function containers(): string {
  const list = ['ps', '-aq', '--filter', 'label=wraptool.session=life'];
  return execFileSync('docker', list, { encoding: 'utf8' });
}

async function state(where: Place, name: string): Promise<State> {
  return JSON.parse(await readFile(path.join(sessionDir(where, name), 'session.json'), 'utf8')) as State;
}

/** Pids of processes on the host whose command line holds the marker (container processes are host processes too). */
async function withMarker(marker: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if ((await readFile(`/proc/${entry}/cmdline`, 'utf8')).includes(marker)) found.push(Number(entry));
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  return found;
}

let count = 0;
/** A harness that says it is ready and then stays; its sleep is findable by an odd number of seconds. */
function staying(): { marker: string; args: readonly string[] } {
  const marker = `${process.pid}${(count += 1)}.125`;
  return { marker, args: ['--', '-c', `echo harness-is-ready; sleep ${marker}; exit 9`] };
}

for (const { name: runtime, part } of runtimes) {
  void test(
    `${runtime}: the harness's exit code and its stdout are ours, and nothing is left`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const result = await where.wraptool([
        'up',
        'shell',
        '--runtime',
        runtime,
        '--',
        '-c',
        'echo to-stdout; echo to-stderr >&2; exit 7',
      ]);
      assert.deepEqual({ code: result.code, stdout: result.stdout }, { code: 7, stdout: 'to-stdout\n' });
      assert.match(result.stderr, /to-stderr/);
      assert.deepEqual(await readdir(path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool')), []);
    },
  );

  void test(`${runtime}: stdin reaches the harness and its end, too`, needs(part), async (t) => {
    const where = await ready(t);
    const result = await where.wraptool(['up', 'shell', '--runtime', runtime, '--', '-c', 'tr a-z A-Z'], {
      input: 'hello\n',
    });
    assert.deepEqual({ code: result.code, stdout: result.stdout }, { code: 0, stdout: 'HELLO\n' });
  });

  void test(
    `${runtime}: inside there is the workspace, a HOME of its own, the token, and nothing of the host`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const script = `pwd; echo "$HOME"; test -w . && echo writable; touch made; test -S /run/wraptool/gateway.sock && echo socket
      test -e ${where.home}/.config && echo host-home; test -e /var/run/docker.sock && echo docker-socket; echo "\${SECRET_OF_HOST-none} \${SSH_AUTH_SOCK-none}"
      test -n "$WRAPTOOL_TOKEN" && echo token; touch .git/hooks/x 2>/dev/null && echo hooks-writable; git status --short`;
      const result = await where.wraptool(['up', 'shell', '--runtime', runtime, '--', '-c', script], {
        env: { SECRET_OF_HOST: 'x', SSH_AUTH_SOCK: '/tmp/agent' },
      });
      assert.deepEqual(result.stdout.split('\n'), [
        where.workspace,
        '/home/agent',
        'writable',
        'socket',
        'none none',
        'token',
        '?? made',
        '',
      ]);
      assert.equal(result.code, 0);
      assert.equal((await stat(path.join(where.workspace, 'made'))).uid, process.getuid?.());
    },
  );

  for (const signal of ['SIGTERM', 'SIGHUP'] as const)
    void test(`${runtime}: ${signal} to wraptool ends the session in order`, needs(part), async (t) => {
      const where = await ready(t);
      const { marker, args } = staying();
      const child = where.start(['up', 'shell', '--runtime', runtime, '--name', 'life', ...args]);
      await seen(child.stdout, /harness-is-ready/);
      const { gateway } = await state(where, 'life');
      const done = finish(child, '');
      child.kill(signal);
      assert.equal((await done).code, signal === 'SIGTERM' ? 143 : 129);
      assert.deepEqual(
        {
          left: await withMarker(marker),
          gateway: await isAlive(gateway),
          folder: existsSync(sessionDir(where, 'life')),
        },
        { left: [], gateway: false, folder: false },
      );
    });

  void test(`${runtime}: kill -9 of wraptool leaves nothing within 2 s`, needs(part), async (t) => {
    const where = await ready(t);
    const { marker, args } = staying();
    const child = where.start(['up', 'shell', '--runtime', runtime, '--name', 'life', ...args]);
    await seen(child.stdout, /harness-is-ready/);
    const { gateway, supervisor } = await state(where, 'life');
    assert.equal(supervisor.pid, child.pid);
    assert.notEqual((await withMarker(marker)).length, 0);
    child.kill('SIGKILL');
    await until(
      'gateway, harness and folder are gone',
      async () =>
        // One that init has not waited for yet has ended.
        !(await isAlive(gateway)) &&
        (await withMarker(marker)).length === 0 &&
        !existsSync(sessionDir(where, 'life')),
      2000,
    );
    const { stdout, stderr } = await where.wraptool(['ps', '--json']);
    assert.deepEqual(
      { stdout: JSON.parse(stdout) as unknown, stderr },
      { stdout: { sessions: [], reclaimed: [] }, stderr: '' },
    );
    if (runtime === 'devcontainer') await until('its container is gone', async () => containers() === '');
  });

  void test(
    `${runtime}: kill -9 of wraptool and of its gateway at once: the next ps reclaims and says so`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const { marker, args } = staying();
      const child = where.start(['up', 'shell', '--runtime', runtime, '--name', 'life', ...args]);
      await seen(child.stdout, /harness-is-ready/);
      const { gateway } = await state(where, 'life');
      process.kill(gateway.pid, 'SIGKILL');
      child.kill('SIGKILL');
      await until('the harness is gone', async () => (await withMarker(marker)).length === 0, 2000);
      assert.ok(existsSync(sessionDir(where, 'life')));
      const { stderr } = await where.wraptool(['ps']);
      assert.match(stderr, /reclaimed "life", whose supervisor is gone/);
      assert.equal(existsSync(sessionDir(where, 'life')), false);
    },
  );

  void test(
    `${runtime}: a gateway that dies is shown by ps, and down still ends the session`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const { marker, args } = staying();
      const child = where.start(['up', 'shell', '--runtime', runtime, '--name', 'life', ...args]);
      await seen(child.stdout, /harness-is-ready/);
      process.kill((await state(where, 'life')).gateway.pid, 'SIGKILL');
      const view = async () =>
        (JSON.parse((await where.wraptool(['ps', '--json'])).stdout) as { sessions: { status: string }[] })
          .sessions;
      await until('ps shows it', async () => /gateway ended/.test((await view())[0]?.status ?? ''));
      const done = finish(child, '');
      assert.equal((await where.wraptool(['down', 'life'])).code, 0);
      assert.equal((await done).code, 143);
      assert.deepEqual(
        { left: await withMarker(marker), folder: existsSync(sessionDir(where, 'life')) },
        { left: [], folder: false },
      );
    },
  );
}

void test('two sessions on one workspace work side by side', needs('bubblewrap'), async (t) => {
  const where = await ready(t);
  const start = () =>
    where.start([
      'up',
      'shell',
      '--runtime',
      'bubblewrap',
      '--',
      '-c',
      'echo harness-is-ready; read word; echo "$word"',
    ]);
  const children = [start(), start()];
  await Promise.all(children.map((child) => seen(child.stdout, /harness-is-ready/)));
  const { sessions } = JSON.parse((await where.wraptool(['ps', '--json'])).stdout) as {
    sessions: { name: string; status: string }[];
  };
  assert.deepEqual(sessions.map(({ name, status }) => `${name} ${status}`).sort(), [
    'shell-app running',
    'shell-app-2 running',
  ]);
  const results = await Promise.all(children.map((child, index) => finish(child, `word-${index}\n`)));
  assert.deepEqual(
    results.map((result) => result.code),
    [0, 0],
  );
});

void test(
  '--dry-run shows what would run, masks secrets and makes nothing',
  needs('bubblewrap'),
  async (t) => {
    const where = await ready(t);
    await where.writeConfig(`${gitConfig}up: { harness_env: [MODEL_KEY], network: none }\n`);
    const before = await where.files();
    const result = await where.wraptool(['up', 'shell', '--runtime', 'bubblewrap', '--dry-run', '--json'], {
      env: { MODEL_KEY: 'sk-very-secret-0123456789' },
    });
    assert.equal(result.code, 0);
    assert.doesNotMatch(result.stdout, /sk-very-secret/);
    assert.match(result.stdout, /--cap-drop/);
    assert.match(result.stdout, /MODEL_KEY/);
    assert.deepEqual(await where.files(), before);
  },
);
