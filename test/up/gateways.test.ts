/** What becomes of a session when its gateways do what gateways should not, and when the disk refuses what is written. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { recordNamespace } from '../../src/restart/store.ts';
import { Audit } from '../../src/up/audit.ts';
import { Gateways } from '../../src/up/gateways.ts';
import { sessionHealth } from '../../src/up/health.ts';
import { openEvents } from '../../src/up/session-events.ts';
import { createSession } from '../../src/up/session.ts';
import { recordsOf } from '../restart/records.ts';
import { until } from '../support/until.ts';

const proof = { source: 'client_namespace', ok: true, reasons: [] } as const;
const main = fileURLToPath(new URL('../fixtures/supervised/gateway.ts', import.meta.url));

async function place(t: TestContext, policy: 'never' | 'on-crash' = 'never') {
  const dir = await mkdtemp(path.join(tmpdir(), 'gw-'));
  const [plays, config] = [path.join(dir, 'plays'), path.join(dir, 'config.yaml')];
  await writeFile(plays, '');
  await writeFile(config, 'version: 1\n');
  const env = {
    PATH: process.env['PATH'] ?? '',
    XDG_RUNTIME_DIR: path.join(dir, 'run'),
    XDG_STATE_HOME: path.join(dir, 'state'),
    GATEWAY_PLAYS: plays,
  };
  const session = await createSession(
    env,
    { given: 'odd', proposed: 'odd' },
    {
      harness: 'shell',
      runtime: 'bubblewrap',
      workspace: dir,
      roots: [dir],
      owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
      config,
      remotes: {},
      shared: [],
    },
  );
  openEvents(session.dir);
  await recordNamespace(env, { name: 'odd', kind: 'session' }, new Date());
  const warnings: string[] = [];
  const audit = new Audit(path.join(dir, 'log'), 'odd');
  const gateways = new Gateways({
    session,
    start: {
      name: 'odd',
      dir: session.dir,
      config,
      token: 'x',
      env,
      logFile: path.join(dir, 'gw.log'),
      main,
    },
    policy,
    audit,
    warn: (text) => warnings.push(text),
  });
  t.after(async () => {
    await gateways.close();
    await audit.close();
    await rm(dir, { recursive: true, force: true });
  });
  const markers = async () => (await recordsOf(env))[0]?.markers ?? [];
  return {
    ...{ dir, env, session, warnings, gateways, config, markers },
    /** As the first checks inside see it. */
    proven: async () => {
      await gateways.expected();
      await gateways.proven(proof);
    },
    play: (words: string) => writeFile(plays, words),
    go: () => writeFile(`${plays}.go`, ''),
    pid: () => session.state.gateway?.pid ?? 0,
    health: () => sessionHealth(env, session),
    /** Pid of the gateway that a client reaches; 0 where none answers. */
    reached: () => pidAt(session.socket),
  };
}

function pidAt(address: string): Promise<number> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(address);
    socket.on('data', (chunk) => (text += String(chunk)));
    socket.on('error', () => resolve(0));
    socket.on('close', () => resolve(Number(text)));
  });
}

describe('a new gateway is not taken', { concurrency: 4 }, () => {
  for (const [what, words] of [
    ['ends before it is ready', 'exits'],
    ['says that it serves another config', 'lies'],
  ] as const)
    void test(`that ${what}: the old one goes on, proven as it was`, async (t) => {
      const it = await place(t);
      await it.gateways.start();
      await it.proven();
      const before = it.pid();
      await it.play(words);
      assert.deepEqual(await it.gateways.restart('restart').then(({ result, reason }) => [result, reason]), [
        'kept',
        'gateway_failed',
      ]);
      assert.deepEqual([it.pid(), await it.reached()], [before, before]);
      const { status, mutations_allowed } = await it.health();
      assert.deepEqual([status, mutations_allowed], ['clean', true]);
      await it.play('');
      assert.equal((await it.gateways.restart('restart')).result, 'restarted');
      assert.equal(await it.reached(), it.pid());
    });

  void test('that was killed before it was ready: kept, and on record as any other that was killed', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    const before = it.pid();
    await it.play('falls');
    assert.equal((await it.gateways.restart('restart')).result, 'kept');
    assert.deepEqual([it.pid(), (await it.markers()).length], [before, 1]);
    await it.play('exits');
    assert.equal((await it.gateways.restart('restart')).result, 'kept');
    assert.equal((await it.markers()).length, 1, 'an exit is no kill');
  });

  void test('that was killed as soon as it was ready: kept, or gone and said, but never taken for alive', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    const before = it.pid();
    await it.play('dies');
    const { result } = await it.gateways.restart('restart');
    await until('its end is on record', async () => (await it.markers()).length === 1);
    if (result === 'kept') assert.deepEqual([it.pid(), await it.reached()], [before, before]);
    else await until('it is not there any more', () => it.pid() === 0);
    assert.equal((await it.health()).mutations_allowed, false);
  });

  void test('where its address can’t be given to it: nothing has changed', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    await it.proven();
    const before = it.pid();
    await mkdir(`${it.session.socket}.next/x`, { recursive: true });
    const { result, detail } = await it.gateways.restart('restart');
    assert.deepEqual([result, it.pid(), await it.reached()], ['kept', before, before]);
    assert.match(detail ?? '', /could not be put in place/);
    assert.equal((await it.health()).status, 'clean');
    await rm(`${it.session.socket}.next`, { recursive: true });
    assert.equal((await it.gateways.restart('restart')).result, 'restarted');
  });
});

describe('the supervisor', { concurrency: 4 }, () => {
  void test('reads over what is no answer, and over half a line of one that was killed', async (t) => {
    const it = await place(t);
    await it.play('noisy halved');
    await it.gateways.start();
    await it.play('noisy');
    assert.equal((await it.gateways.restart('restart')).result, 'restarted');
    await until('the killed one is on record', async () => (await it.markers()).length === 1);
    assert.equal(await it.reached(), it.pid());
  });

  void test('replaces one that answers nothing, and ends it', async (t) => {
    const it = await place(t);
    await it.play('deaf');
    await it.gateways.start();
    const before = it.pid();
    await it.play('');
    assert.equal((await it.gateways.restart('restart')).result, 'restarted');
    await until('the old one is gone', () => !runs(before));
    assert.deepEqual(await it.markers(), []);
  });

  void test('does for two that ask for the same, and have not been begun, one restart', async (t) => {
    const it = await place(t);
    await it.play('waits');
    await it.gateways.start();
    const first = it.gateways.restart('restart');
    await until('it has begun', () => it.session.state.quiescing === true);
    const others = [1, 2, 3].map(() => it.gateways.restart('restart'));
    const reload = it.gateways.restart('reload');
    await it.go();
    for (const one of [first, ...others]) assert.equal((await one).result, 'restarted');
    assert.equal((await reload).result, 'reloaded');
    const started = (await readFile(path.join(it.session.dir, 'events.jsonl'), 'utf8')).match(
      /"what":"gateway"/g,
    );
    assert.equal(started?.length, 3);
  });

  void test('allows no change while a restart is under way, and says so', async (t) => {
    const it = await place(t);
    await it.play('waits');
    await it.gateways.start();
    await it.proven();
    const restarting = it.gateways.restart('reload');
    await until('it has begun', () => it.session.state.quiescing === true);
    const { status, mutations_allowed, reasons } = await it.health();
    assert.deepEqual([status, mutations_allowed], ['clean', false]);
    assert.match(reasons.join(), /quiescing/);
    await it.go();
    await restarting;
    assert.equal((await it.health()).mutations_allowed, true);
  });

  void test('starts none for what was asked before its session ended', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    const asked = [it.gateways.restart('reload'), it.gateways.restart('restart')];
    await it.gateways.close();
    for (const one of asked) assert.notEqual((await one).result, 'restarted');
    assert.equal(await it.reached(), 0);
  });
});

describe('the disk refuses', { concurrency: 4 }, () => {
  void test('a marker: it counts all the same, and is written as soon as it can be', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    const folder = path.join(it.env.XDG_STATE_HOME, 'wraptool', 'namespaces');
    await rename(folder, `${folder}.aside`);
    await writeFile(folder, '');
    process.kill(it.pid(), 'SIGKILL');
    await until('it is told', () => it.warnings.some((line) => line.includes('was killed by SIGKILL')));
    const unwritten = await it.gateways.unwritten();
    assert.deepEqual(
      unwritten.map(({ namespace, reason, cleared }) => [namespace, reason, cleared]),
      [['odd', 'killed_by_signal', null]],
    );
    await rm(folder);
    await rename(`${folder}.aside`, folder);
    assert.deepEqual(await it.gateways.unwritten(), []);
    assert.deepEqual(
      (await it.markers()).map(({ at, cleared }) => [at, cleared]),
      [[unwritten[0]?.at, null]],
    );
    assert.equal((await it.gateways.unwritten()).length + (await it.markers()).length, 1);
  });

  void test('the state of the session: the old one goes on, and is told what was seen of it', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    const aside = path.join(it.session.dir, `.session.json.${process.pid}`);
    await mkdir(aside);
    const { result, reason } = await it.gateways.restart('restart');
    assert.deepEqual([result, reason, await it.reached()], ['kept', 'gateway_failed', it.pid()]);
    await it.proven();
    await rm(aside, { recursive: true });
    assert.equal((await it.gateways.restart('restart')).result, 'restarted');
  });

  void test('an event: what was to be done is done, and a killed gateway is on record', async (t) => {
    const it = await place(t, 'on-crash');
    await it.gateways.start();
    const events = path.join(it.session.dir, 'events.jsonl');
    await rm(events);
    await mkdir(events);
    assert.equal((await it.gateways.restart('restart')).result, 'restarted');
    const before = it.pid();
    process.kill(before, 'SIGKILL');
    await until('another runs', () => ![0, before].includes(it.pid()), 30_000);
    assert.equal((await it.markers()).length, 1);
    assert.ok(it.warnings.some((line) => line.includes('EISDIR')));
  });
});

describe('the end of a session', { concurrency: 4 }, () => {
  void test('is not held up by a gateway that does not become ready, and is no contamination', async (t) => {
    const it = await place(t);
    await it.play('hangs');
    const starting = it.gateways.start();
    const outcome = assert.rejects(starting, { code: 'gateway_failed', message: /the session ended before/ });
    let pid = 0;
    await until(
      'it runs',
      async () => (pid = await pidAt(path.join(it.session.dir, 'gateway-1.sock'))) !== 0,
    );
    const begun = performance.now();
    await it.gateways.close();
    await outcome;
    assert.ok(performance.now() - begun < 40_000, 'long before one that is late is given up');
    assert.deepEqual([runs(pid), await it.markers(), it.warnings], [false, [], []]);
  });

  void test('comes before the first gateway: none is started', async (t) => {
    const it = await place(t);
    const outcome = assert.rejects(it.gateways.start(), { code: 'gateway_failed' });
    await it.gateways.close();
    await outcome;
    assert.equal(it.pid(), 0);
  });

  void test('ends a new one that does not become ready, and says nothing of it', async (t) => {
    const it = await place(t);
    await it.gateways.start();
    await it.play('hangs');
    const restarting = it.gateways.restart('restart');
    let pid = 0;
    await until(
      'it runs',
      async () => (pid = await pidAt(path.join(it.session.dir, 'gateway-2.sock'))) !== 0,
    );
    await it.gateways.close();
    assert.equal((await restarting).reason, 'session_unreachable');
    assert.deepEqual([runs(pid), it.warnings], [false, []]);
  });
});

void test('what was seen of a gateway proves no other that came in its place meanwhile', async (t) => {
  const it = await place(t, 'on-crash');
  await it.gateways.start();
  await it.gateways.expected();
  process.kill(it.pid(), 'SIGKILL');
  const said = 'was started again; it is unproven';
  await until('another has its place', () => it.warnings.some((line) => line.includes(said)), 30_000);
  await it.gateways.proven(proof);
  assert.deepEqual(it.session.state.proof, null);
  await it.proven();
  assert.deepEqual(it.session.state.proof, proof);
});

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
