/** inspect, logs, prune and doctor: what they tell, and what they leave alone. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { finish, seen, until } from './place.ts';
import { dirOf, live, oddSeconds, readyPlace, runtimes } from './session.ts';

type State = { readonly gateway: { readonly pid: number } };

type Inspection = {
  name: string;
  status: string;
  runtime: string;
  workspace: string;
  home: string;
  network: string;
  supervisor: { pid: number; alive: boolean; answers: boolean };
  gateway: { pid: number; alive: boolean } | null;
  facts: Record<string, unknown>;
  commands: string[][];
  paths: { session: string };
};

for (const { name: runtime, part } of runtimes)
  void test(
    `${runtime}: inspect and logs tell of a session, and logs -f ends with it`,
    needs(part),
    async (t) => {
      const { where, child, dir, end } = await live(t, runtime);
      const marker = oddSeconds();
      const exec = where.start(['exec', 'life', '--', 'sh', '-c', `echo up; sleep ${marker}`]);
      const executed = finish(exec, '');
      await seen(exec.stdout, /up/);
      const text = (await where.wraptool(['inspect', 'life', '--json'])).stdout;
      const found = JSON.parse(text) as Inspection;
      assert.deepEqual(
        {
          ...found,
          gateway: found.gateway?.alive,
          facts: Object.keys(found.facts),
          home: path.dirname(found.home),
        },
        {
          ...found,
          name: 'life',
          status: 'running',
          runtime,
          workspace: where.workspace,
          home: path.join(where.home, '.local/state/wraptool/homes/shell'),
          network: 'none',
          supervisor: { pid: child.pid, alive: true, answers: true },
          gateway: true,
          facts: [runtime === 'bubblewrap' ? 'pid' : 'container'],
          commands: [['sh', '-c', `echo up; sleep ${marker}`]],
        },
      );
      assert.equal(found.paths.session, dir);
      assert.doesNotMatch(text, /TOKEN|token":/);
      const shown = await where.wraptool(['inspect', 'life']);
      assert.match(shown.stdout, /^status +running$/m);
      assert.match(shown.stdout, /^checks +all fine$/m);

      const follow = where.start(['logs', 'life', '-f', '--json']);
      const followed = finish(follow, '');
      await seen(follow.stdout, /"what":"exec"/);
      exec.kill('SIGTERM');
      assert.equal((await executed).code, 143);
      await end();
      const { code, stdout } = await followed;
      assert.equal(code, 0);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { source: string; what?: string; event?: string });
      assert.deepEqual(
        lines.flatMap(({ source, what }) => (source === 'supervisor' ? [what] : [])),
        [
          'session',
          'gateway',
          'preflight',
          'harness',
          'exec',
          'exec ended',
          'harness ended',
          'gateway ended',
        ],
      );
      assert.ok(lines.some(({ source, event }) => source === 'calls' && event === 'up'));
      assert.equal((await where.wraptool(['logs', 'life'])).code, 2);
      assert.equal((await where.wraptool(['inspect', 'life'])).code, 2);
    },
  );

void test('a gateway that is killed shows in logs and inspect', needs('bubblewrap'), async (t) => {
  const { where } = await live(t, 'bubblewrap');
  const inspect = async () =>
    JSON.parse((await where.wraptool(['inspect', 'life', '--json'])).stdout) as Inspection;
  process.kill((await inspect()).gateway?.pid ?? 0, 'SIGKILL');
  await until('inspect shows it', async () => /gateway ended \(SIGKILL\)/.test((await inspect()).status));
  const { stdout } = await where.wraptool(['logs', 'life']);
  assert.match(stdout, /gateway ended .*"signal":"SIGKILL".*"kind":"killed"/);
});

void test('a supervisor that does not answer is told by inspect', needs('bubblewrap'), async (t) => {
  const { where, child } = await live(t, 'bubblewrap');
  // Its socket is there, and nobody is behind it.
  await rm(path.join(dirOf(where, 'life'), 'control.sock'));
  const found = JSON.parse((await where.wraptool(['inspect', 'life', '--json'])).stdout) as Inspection;
  assert.deepEqual(found.supervisor, { pid: child.pid, alive: true, answers: false });
});

void test(
  'prune --dry-run says what it would do and does nothing; prune does it',
  needs('bubblewrap'),
  async (t) => {
    const where = await readyPlace(t, 'bubblewrap');
    const { child, dir } = await live(t, 'bubblewrap', { where });
    const { gateway } = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as State;
    process.kill(gateway.pid, 'SIGKILL');
    child.kill('SIGKILL');
    await until('the supervisor is gone', async () => child.exitCode !== null || child.signalCode !== null);
    const current = path.join(where.home, '.cache/wraptool/harnesses/claude');
    for (const version of ['1.0.0', '1.0.1'])
      await mkdir(path.join(current, version, 'tree'), { recursive: true });
    const lost = path.join(where.dir, 'src', 'lost');
    await mkdir(lost);
    await where.wraptool([
      'up',
      'shell',
      '--runtime',
      'bubblewrap',
      '--workspace',
      lost,
      '--',
      '-c',
      'echo x > ~/login',
    ]);
    const homes = path.join(where.home, '.local/state/wraptool/homes/shell');
    const isThere = () => ({
      session: existsSync(dir),
      installed: existsSync(path.join(current, '1.0.0')),
    });
    // `up` itself reclaims what dead sessions left.
    assert.deepEqual(isThere(), { session: false, installed: true });
    await rm(lost, { recursive: true });
    const asked = ['prune', '--harnesses', '--homes', '--json'];
    const dry = JSON.parse((await where.wraptool([...asked, '--dry-run'])).stdout) as {
      pruned: { what: string; removed: boolean }[];
    };
    const own = dry.pruned.filter(({ what }) => what.includes(where.home));
    assert.deepEqual(
      own.map(({ removed }) => removed),
      [false, false, false],
    );
    assert.match(
      own.map(({ what }) => what).join('\n'),
      /claude 1\.0\.0 .*\nclaude 1\.0\.1 .*\nhome of shell for .*lost, which is gone/,
    );
    assert.deepEqual(isThere(), { session: false, installed: true });
    // Without being asked, neither installations nor homes go.
    const plain = JSON.parse((await where.wraptool(['prune', '--dry-run', '--json'])).stdout) as {
      pruned: { what: string }[];
    };
    assert.deepEqual(
      plain.pruned.filter(({ what }) => what.includes(where.home)),
      [],
    );
    assert.equal((await where.wraptool(['prune', '--harnesses', '--homes', '--json'])).code, 0);
    assert.deepEqual(isThere(), { session: false, installed: false });
    assert.equal(spawnSync('ls', [homes], { encoding: 'utf8' }).stdout.trim().split('\n').length, 1);
  },
);

void test('prune reclaims a dead session, after saying so', needs('bubblewrap'), async (t) => {
  const { where, child, dir } = await live(t, 'bubblewrap');
  const { gateway } = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as State;
  process.kill(gateway.pid, 'SIGKILL');
  child.kill('SIGKILL');
  await until('the supervisor is gone', async () => child.exitCode !== null || child.signalCode !== null);
  assert.match(
    (await where.wraptool(['prune', '--dry-run'])).stdout,
    /^would remove: what is left of the session "life"/m,
  );
  assert.ok(existsSync(dir));
  assert.match((await where.wraptool(['prune'])).stdout, /^removed: reclaimed "life"/m);
  assert.equal(existsSync(dir), false);
});

void test(
  'an image of ours on a base that is another one by now is pruned, the current one is kept',
  needs('docker'),
  async (t) => {
    const where = await readyPlace(t, 'devcontainer');
    const base = `wraptool-test-prune-${process.pid}`;
    const docker = (args: readonly string[], input = '') => {
      const done = spawnSync('docker', args, { input, encoding: 'utf8' });
      assert.equal(done.status, 0, done.stderr);
      return done.stdout.trim();
    };
    const make = (label: string) =>
      docker(['build', '-q', '-t', base, '-'], `FROM wraptool-test-base\nLABEL x=${label}\n`);
    t.after(() => spawnSync('docker', ['rmi', '-f', base]));
    await where.writeConfig(`version: 1\nup: { base_image: ${base}, network: none }\n`);
    const mine = () => {
      const listed = docker([
        'images',
        '--filter',
        `label=wraptool.base=${base}`,
        '--format',
        '{{.Repository}}:{{.Tag}}',
      ]);
      return listed === '' ? [] : listed.split('\n');
    };
    make('1');
    await where.wraptool(['up', 'shell', '--runtime', 'devcontainer', '--', '-c', ':']);
    const [first] = mine();
    assert.ok(first !== undefined);
    const would = async () => (await where.wraptool(['prune', '--dry-run'])).stdout;
    assert.doesNotMatch(await would(), new RegExp(first));
    make('2');
    await where.wraptool(['up', 'shell', '--runtime', 'devcontainer', '--', '-c', ':']);
    assert.equal(mine().length, 2);
    const said = await would();
    assert.match(said, new RegExp(`^would remove: image ${first} \\(\\d+\\.\\d MB\\)$`, 'm'));
    const second = mine().find((name) => name !== first) ?? '';
    assert.doesNotMatch(said, new RegExp(second));
    t.after(() => mine().forEach((name) => spawnSync('docker', ['rmi', '-f', name])));
  },
);

void test('doctor names each requirement, what was found and how to mend it', async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  const { code, stdout } = await where.wraptool(['doctor', '--json']);
  type Row = { name: string; status: string; found: string; mend: string | null; needed_for: string };
  const { ok, requirements } = JSON.parse(stdout) as { ok: boolean; requirements: Row[] };
  const names = requirements.map(({ name }) => name);
  for (const name of [
    'node',
    'system',
    'config',
    'folders',
    'bubblewrap',
    'devcontainer',
    'a runtime',
    'network',
    'git',
    'script',
    'koffi',
  ])
    assert.ok(names.includes(name), name);
  for (const row of requirements) {
    assert.equal(row.mend === null, row.status === 'ok', row.name);
    assert.ok(row.found !== '' && row.needed_for !== '', row.name);
  }
  assert.deepEqual(
    { ok, code },
    { ok: !requirements.some(({ status }) => status === 'missing'), code: ok ? 0 : 1 },
  );
});

void test('doctor without a config, or with a broken one, ends with 1 and says how to mend it', async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  const none = await where.wraptool(['doctor', '--config', path.join(where.dir, 'none.yaml')]);
  assert.equal(none.code, 1);
  assert.match(none.stdout, /^missing +config .*\n.*wraptool init/m);
  await writeFile(where.config, 'version: 1\nnonsense: true\n', { mode: 0o600 });
  const broken = await where.wraptool(['doctor', '--json']);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /"name":"config","needed_for":"up and serve","status":"missing"/);
});
