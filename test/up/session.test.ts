import assert from 'node:assert/strict';
import { chown, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { processRef } from '../../src/supervise/process.ts';
import {
  checkName,
  createSession,
  findSession,
  listSessions,
  proposeName,
  removeUnfinished,
} from '../../src/up/session.ts';

const about = {
  harness: 'shell',
  runtime: 'bubblewrap',
  workspace: '/srv/app',
  roots: ['/srv/app'],
  owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
  config: '/etc/wraptool.yaml',
  remotes: {},
  shared: [],
};

async function place(t: test.TestContext): Promise<{ XDG_RUNTIME_DIR: string }> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'ws-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return { XDG_RUNTIME_DIR: dir };
}

void test('a new session is a 0700 folder with its state, its socket folder and its files folder', async (t) => {
  const env = await place(t);
  const session = await createSession(env, { proposed: 'shell-app' }, about);
  assert.deepEqual((await readdir(session.dir)).sort(), ['files', 'session.json', 'socket']);
  for (const name of ['', 'files', 'socket'])
    assert.equal((await stat(path.join(session.dir, name))).mode & 0o777, 0o700);
  assert.equal((await stat(path.join(session.dir, 'session.json'))).mode & 0o777, 0o600);
  const [found] = await listSessions(env);
  assert.deepEqual(found?.session?.state, session.state);
  assert.equal(found?.alive, true);
});

void test('a proposed name that is taken gets a number, a given one is refused', async (t) => {
  const env = await place(t);
  await createSession(env, { proposed: 'shell-app' }, about);
  assert.equal((await createSession(env, { proposed: 'shell-app' }, about)).state.name, 'shell-app-2');
  await assert.rejects(createSession(env, { given: 'shell-app', proposed: 'x' }, about), {
    code: 'session_exists',
  });
  assert.deepEqual((await readdir(path.join(env.XDG_RUNTIME_DIR, 'wraptool'))).sort(), [
    'shell-app',
    'shell-app-2',
  ]);
});

void test('twenty sessions made at once under one proposed name get twenty names', async (t) => {
  const env = await place(t);
  const made = await Promise.all(
    Array.from({ length: 20 }, () => createSession(env, { proposed: 'x' }, about)),
  );
  assert.equal(new Set(made.map((session) => session.state.name)).size, 20);
});

void test('a folder with a broken state is listed as dead, without a session', async (t) => {
  const env = await place(t);
  const session = await createSession(env, { proposed: 'x' }, about);
  await writeFile(path.join(session.dir, 'session.json'), '{"version": 1, "na');
  assert.deepEqual(await listSessions(env), [{ dir: session.dir, session: null, alive: false }]);
});

void test('a reused pid is not taken for the supervisor', async (t) => {
  const env = await place(t);
  const session = await createSession(env, { proposed: 'x' }, about);
  await session.update({ supervisor: { pid: process.pid, start: '1' } });
  assert.equal((await findSession(env, 'x')).alive, false);
});

void test('a socket path that Linux could not hold is refused before anything is made', async (t) => {
  const env = await place(t);
  const deep = { XDG_RUNTIME_DIR: path.join(env.XDG_RUNTIME_DIR, 'd'.repeat(90)) };
  await assert.rejects(
    createSession(deep, { proposed: 'x' }, about),
    /socket's path is longer than the 107 bytes/,
  );
});

for (const [name, verdict] of [
  ['app', 'fine'],
  ['all', 'reserved'],
  ['fleet', 'reserved'],
  ['classify', 'reserved'],
  ['-app', 'shape'],
  ['../app', 'shape'],
  ['App', 'shape'],
  ['a'.repeat(33), 'shape'],
  ['', 'shape'],
] as const)
  void test(`session name "${name}" is ${verdict}`, () => {
    if (verdict === 'fine') assert.equal(checkName(name), name);
    else assert.throws(() => checkName(name), { code: 'usage' });
  });

for (const [workspace, name] of [
  ['/srv/app', 'claude-app'],
  ['/srv/My App (2)', 'claude-my-app-2'],
  ['/srv/日本', 'claude'],
  [`/srv/${'x'.repeat(60)}`, `claude-${'x'.repeat(25)}`],
] as const)
  void test(`the workspace ${workspace} proposes the name ${name}`, () => {
    assert.equal(proposeName('claude', workspace), name);
    assert.equal(checkName(name), name);
  });

void test('a folder that its maker left unnamed is removed once the maker is dead, and not before', async (t) => {
  const env = await place(t);
  const parent = path.join(env.XDG_RUNTIME_DIR, 'wraptool');
  const alive = await processRef(process.pid);
  const [mine, dead] = [`.new-${alive?.pid}-${alive?.start}-aaaaaa`, `.new-${alive?.pid}-1-bbbbbb`];
  for (const name of [mine, dead]) await mkdir(path.join(parent, name), { recursive: true });
  await removeUnfinished(env);
  assert.deepEqual(await readdir(parent), [mine]);
});

void test(
  'a folder of sessions that another user could have filled is not believed',
  { skip: process.getuid?.() === 0 ? false : 'giving a folder away needs root' },
  async (t) => {
    const env = await place(t);
    await mkdir(path.join(env.XDG_RUNTIME_DIR, 'wraptool', 'forged'), { recursive: true });
    await chown(env.XDG_RUNTIME_DIR, 65534, 65534);
    await assert.rejects(listSessions(env), { code: 'unsafe_location' });
    await assert.rejects(createSession(env, { proposed: 'x' }, about), { code: 'unsafe_location' });
  },
);

void test('changes that overlap are written one after the other, the last one wins', async (t) => {
  const env = await place(t);
  const session = await createSession(env, { proposed: 'x' }, about);
  await Promise.all([
    session.update({ gatewayFault: 'SIGKILL' }),
    session.update({ status: 'running' }),
    session.update({ facts: { pid: 7 } }),
  ]);
  const [found] = await listSessions(env);
  assert.deepEqual(found?.session?.state, {
    ...session.state,
    gatewayFault: 'SIGKILL',
    status: 'running',
    facts: { pid: 7 },
  });
});

void test('a folder that was never a session is left alone, the rest of one is found', async (t) => {
  const env = await place(t);
  const parent = path.join(env.XDG_RUNTIME_DIR, 'wraptool');
  for (const name of ['log/2026', 'homes/claude', 'dead/socket', 'empty'])
    await mkdir(path.join(parent, name), { recursive: true });
  assert.deepEqual(
    (await listSessions(env)).map(({ dir, session }) => [path.basename(dir), session]),
    [
      ['dead', null],
      ['empty', null],
    ],
  );
});
