/** inspect, logs and doctor: what they tell, and what they leave alone. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { finish, seen, until } from './place.ts';
import { dirOf, live, oddSeconds, readyPlace, runtimes } from './session.ts';

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
