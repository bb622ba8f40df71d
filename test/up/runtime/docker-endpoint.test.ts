import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { resolveEndpoint } from '../../../src/up/runtime/docker-endpoint.ts';

const home = mkdtempSync(join(tmpdir(), 'wraptool-endpoint-'));
after(() => rmSync(home, { recursive: true, force: true }));

function context(name: string, host: string): void {
  const dir = join(home, '.docker/contexts/meta', createHash('sha256').update(name).digest('hex'));
  mkdirSync(dir, { recursive: true });
  writeFileSync(
    join(dir, 'meta.json'),
    JSON.stringify({ Name: name, Endpoints: { docker: { Host: host } } }),
  );
}

context('local', 'unix:///run/user/1000/docker.sock');
context('far', 'ssh://me@build.example.org');
context('odd', 'npipe:////./pipe/docker');

const good: readonly [string, Record<string, string>, string][] = [
  ['nothing is set', {}, '/var/run/docker.sock'],
  ['DOCKER_HOST is empty', { DOCKER_HOST: '' }, '/var/run/docker.sock'],
  ['DOCKER_HOST names a socket', { DOCKER_HOST: 'unix:///tmp/d.sock' }, '/tmp/d.sock'],
  [
    'DOCKER_HOST wins over a context',
    { DOCKER_HOST: 'unix:///tmp/d.sock', DOCKER_CONTEXT: 'far' },
    '/tmp/d.sock',
  ],
  ['the context is local', { DOCKER_CONTEXT: 'local' }, '/run/user/1000/docker.sock'],
  ['DOCKER_CONFIG is empty', { DOCKER_CONFIG: '' }, '/var/run/docker.sock'],
  ['the context is the default', { DOCKER_CONTEXT: 'default' }, '/var/run/docker.sock'],
];

for (const [name, env, socketPath] of good) {
  test(`${name}: ${socketPath}`, async () => {
    assert.deepEqual(await resolveEndpoint({ HOME: home, ...env }), { ok: true, socketPath });
  });
}

const bad: readonly [string, Record<string, string>, RegExp][] = [
  [
    'tcp',
    { DOCKER_HOST: 'tcp://10.0.0.1:2375' },
    /DOCKER_HOST is "tcp:\/\/10\.0\.0\.1:2375", not a Unix socket of this machine/,
  ],
  ['ssh', { DOCKER_HOST: 'ssh://me@host' }, /not a Unix socket/],
  ['a socket without a path', { DOCKER_HOST: 'unix://' }, /not a Unix socket/],
  ['a remote context', { DOCKER_CONTEXT: 'far' }, /the Docker context "far" is "ssh:/],
  ['a context of another kind', { DOCKER_CONTEXT: 'odd' }, /not a Unix socket/],
  ['a context that is not there', { DOCKER_CONTEXT: 'gone' }, /the Docker context "gone" cannot be read/],
];

for (const [name, env, reason] of bad) {
  test(`${name} is refused`, async () => {
    const found = await resolveEndpoint({ HOME: home, ...env });
    assert.ok(!found.ok);
    assert.match(found.reason, reason);
    assert.notEqual(found.hint, '');
  });
}

test('the current context of the config file counts', async () => {
  writeFileSync(join(home, '.docker/config.json'), JSON.stringify({ currentContext: 'far' }));
  assert.equal((await resolveEndpoint({ HOME: home })).ok, false);
});

test('an empty DOCKER_CONFIG is not the current folder', async (t) => {
  const before = process.cwd();
  t.after(() => process.chdir(before));
  const dir = mkdtempSync(join(tmpdir(), 'wraptool-endpoint-cwd-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ currentContext: 'far' }));
  process.chdir(dir);
  assert.deepEqual(await resolveEndpoint({ HOME: join(dir, 'home'), DOCKER_CONFIG: '' }), {
    ok: true,
    socketPath: '/var/run/docker.sock',
  });
});

test('settings and sockets in a folder that an agent may write are refused', async (t) => {
  const workspace = mkdtempSync(join(tmpdir(), 'wraptool-endpoint-ws-'));
  t.after(() => rmSync(workspace, { recursive: true, force: true }));
  mkdirSync(join(workspace, '.docker'));
  symlinkSync(join(workspace, '.docker'), join(home, 'link'));
  const refused: readonly [Record<string, string>, RegExp][] = [
    [{ DOCKER_CONFIG: join(workspace, '.docker') }, /DOCKER_CONFIG is ".*", a folder of the workspace/],
    [{ DOCKER_CONFIG: join(home, 'link') }, /a folder of the workspace/],
    [{ DOCKER_HOST: `unix://${workspace}/docker.sock` }, /a socket in the workspace/],
    [{ DOCKER_HOST: `unix://${home}/link/docker.sock` }, /a socket in the workspace/],
  ];
  writeFileSync(join(workspace, 'docker.sock'), '');
  writeFileSync(join(workspace, '.docker', 'docker.sock'), '');
  for (const [env, reason] of refused) {
    const found = await resolveEndpoint({ HOME: home, ...env }, [workspace]);
    assert.match(found.ok ? '' : found.reason, reason);
  }
  const beside = { HOME: home, DOCKER_CONFIG: `${workspace}-not` };
  assert.equal((await resolveEndpoint(beside, [workspace])).ok, true);
});
