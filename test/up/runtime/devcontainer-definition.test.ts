import assert from 'node:assert/strict';
import { test } from 'node:test';
import { definition, mountsOf } from '../../../src/up/runtime/devcontainer-definition.ts';
import type { LaunchSpec } from '../../../src/up/runtime/runtime.ts';

function spec(path: string, uid = 1500): LaunchSpec {
  return {
    session: { name: 'shell-app', id: '0011223344556677', dir: '/run/s' },
    workspace: { path, given: path, uid, gid: uid },
    home: '/state/home',
    socketDir: '/run/s/socket',
    readOnly: [{ source: '/n/node', target: '/opt/wraptool/node/bin/node' }],
    env: { WRAPTOOL_TOKEN: 's3cret' },
    secretEnv: new Set(['WRAPTOOL_TOKEN']),
    command: ['/bin/sh'],
    network: 'private',
    baseImage: 'base',
  };
}

function defined(path: string, uid?: number): Record<string, unknown> {
  const one = spec(path, uid);
  const git = (name: string) => ({ source: `${path}/${name}`, target: `${path}/${name}` });
  const mounts = mountsOf(one, {
    readOnly: [],
    writable: [{ source: path, target: path }, git('.git')],
    readOnlyOver: [git('.git/hooks')],
    identities: [],
  });
  return definition(
    { build: { dockerfile: 'Dockerfile' }, init: true, runArgs: ['--rm'] },
    one,
    'image:1',
    mounts,
  );
}

test('the definition of a session, whole', () => {
  assert.deepEqual(defined('/src/app'), {
    init: true,
    name: 'wraptool-shell-app',
    image: 'image:1',
    workspaceFolder: '/src/app',
    workspaceMount: 'type=bind,source=/src/app,target=/src/app',
    runArgs: [
      '--rm',
      '--name=wraptool-shell-app',
      '--hostname=shell-app',
      '--network=bridge',
      '--user=65533:65533',
      '--mount=type=bind,source=/state/home,target=/home/agent',
      '--mount=type=bind,source=/run/s/socket,target=/run/wraptool,readonly',
      '--mount=type=bind,source=/n/node,target=/opt/wraptool/node/bin/node,readonly',
      '--mount=type=bind,source=/src/app/.git,target=/src/app/.git',
      '--mount=type=bind,source=/src/app/.git/hooks,target=/src/app/.git/hooks,readonly',
    ],
  });
});

test('a comma or a quote in a path is only a letter', () => {
  assert.equal(defined('/a,b"c')['workspaceMount'], 'type=bind,"source=/a,b""c","target=/a,b""c"');
});

test('the keeper is never the owner', () => {
  assert.ok((defined('/w', 65533)['runArgs'] as string[]).includes('--user=65532:65532'));
});

for (const path of ['/a\nb', '/a\u0000b', '/a\u007f', '/a/${localEnv:HOME}', '/${']) {
  test(`${JSON.stringify(path)} is refused`, () => {
    assert.throws(() => defined(path), { code: 'workspace_refused' });
  });
}
