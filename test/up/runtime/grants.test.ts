/** What an approved definition adds to the container, and what it cannot. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJsonc } from '../../../src/devcontainer/jsonc.ts';
import type { JsonObject } from '../../../src/devcontainer/values.ts';
import { grants, withContainerEnv, type Grants } from '../../../src/up/runtime/grants.ts';
import { lifecycleSteps } from '../../../src/up/runtime/lifecycle.ts';

const json = (given: object): JsonObject => readJsonc(JSON.stringify(given)).value as JsonObject;

function granted(given: object, ...features: object[]): Grants {
  return grants({
    asked: [given, ...features].map(json),
    values: { workspace: '/src/app', containerFolder: '/src/app', env: { HOME: '/home/me', KEY: 's3cret' } },
    copied: (file) => `/copy/${file}`,
    text: (file) => (file === 'a.env' ? '# c\nONE=1\nKEY\n' : null),
  });
}

const rows: readonly [what: string, given: object, args: readonly string[]][] = [
  ['nothing asked, nothing granted', { image: 'a', init: true, remoteUser: 'root' }, []],
  [
    'rights',
    { privileged: true, capAdd: ['A'], securityOpt: 'label=disable' },
    ['--privileged', '--cap-add=A', '--security-opt=label=disable'],
  ],
  [
    'a filter is the approved copy of the file',
    { securityOpt: ['seccomp=f.json'] },
    ['--security-opt=seccomp=/copy/f.json'],
  ],
  [
    'mounts, variables replaced',
    {
      mounts: [
        'type=bind,source=${localEnv:HOME}/x,target=/x',
        { type: 'volume', source: 'v', target: '/v' },
      ],
    },
    ['--mount=type=bind,source=/home/me/x,target=/x', '--mount=type=volume,src=v,dst=/v'],
  ],
  [
    'a port by number is for this machine alone',
    { appPort: [3000, '8080:80'] },
    ['--publish=127.0.0.1:3000:3000', '--publish=8080:80'],
  ],
  [
    'run arguments in one form',
    { runArgs: ['-v', '/a:/b', '--device=/dev/kvm', '-itm2g'] },
    ['--volume=/a:/b', '--device=/dev/kvm', '--memory=2g'],
  ],
  [
    'what is the session’s own is left out',
    {
      runArgs: [
        '--name=x',
        '--rm=false',
        '--user',
        'root',
        '--entrypoint=/x',
        '-l',
        'a=b',
        '--restart=always',
        '-d',
        '--hostname',
        'h',
      ],
    },
    [],
  ],
  [
    'no value of a variable is an argument',
    { containerEnv: { A: '${localEnv:KEY}' }, runArgs: ['-e', 'KEY', '--env-file', 'a.env'] },
    [],
  ],
];

for (const [what, given, args] of rows) test(what, () => assert.deepEqual(granted(given).args, args));

test('a variable of the host makes no other options than the approved ones', () => {
  // HOME is a word of its own, and "--privileged" no value any more.
  const given = { runArgs: ['${localEnv:HOME:--hostname}', '--privileged'] };
  assert.throws(() => granted(given), { code: 'devcontainer_refused' });
  assert.deepEqual(granted({ runArgs: ['--dns-search=${localEnv:KEY}', '-v', '${localEnv:HOME}:/h'] }).args, [
    '--dns-search=s3cret',
    '--volume=/home/me:/h',
  ]);
});

test('bind mounts, however they are spelled', () => {
  const runArgs = [
    '-v',
    '/src/app/a:/a:ro',
    '--mount',
    ['TYPE=bind', 'src=/src/app/b', 'dst=/b'],
    '-v',
    '/c',
  ];
  assert.deepEqual(granted({ mounts: [{ type: 'bind', source: '/m', target: '/n' }], runArgs }).binds, [
    { source: '/m', target: '/n' },
    { source: '/src/app/a', target: '/a' },
    { source: '/src/app/b', target: '/b' },
  ]);
});

test('variables, those of the host known as such', () => {
  const { env, secretEnv } = granted({
    containerEnv: { A: '${localEnv:KEY}', B: '${localEnv:NONE:dflt}', C: 'c' },
    remoteEnv: { D: '${containerEnv:PATH}:/d' },
    runArgs: ['--env-file', 'a.env', '-e', 'E=e'],
  });
  assert.deepEqual(env, {
    A: 's3cret',
    B: 'dflt',
    C: 'c',
    D: '${containerEnv:PATH}:/d',
    ONE: '1',
    KEY: 's3cret',
    E: 'e',
  });
  assert.deepEqual([...secretEnv].sort(), ['A', 'B', 'KEY']);
});

test('a feature asks for rights and mounts, and for no run arguments', () => {
  const { capAdd, privileged, args } = granted(
    {},
    { privileged: true, capAdd: ['B'], runArgs: ['--pid=host'], appPort: 1 },
  );
  assert.deepEqual([capAdd, privileged, args], [['B'], true, ['--privileged', '--cap-add=B']]);
});

test('namespaces and the network; never those of processes', () => {
  const { network, ipc, hostname, args } = granted({
    runArgs: ['--network=name=host,alias=a', '--pid', 'host', '--ipc=host', '--uts=host'],
  });
  assert.deepEqual({ network, ipc, hostname }, { network: 'host', ipc: 'host', hostname: false });
  assert.ok(!args.join(' ').includes('pid'));
});

test('${containerEnv:NAME} is what the container has', () => {
  assert.deepEqual(
    withContainerEnv(
      { A: '${containerEnv:P}:x', B: '${containerEnv:A}', C: '${containerEnv:N:d}' },
      { P: '/p' },
    ),
    {
      A: '/p:x',
      B: '/p:x',
      C: 'd',
    },
  );
});

test('lifecycle commands in their order and in every form; initializeCommand is none', () => {
  const given = {
    postStartCommand: ['a', 'b c'],
    onCreateCommand: 'x ${containerWorkspaceFolder}',
    postCreateCommand: { one: 'y', two: ['z'] },
    initializeCommand: 'never',
    updateContentCommand: ' ',
  };
  assert.deepEqual(lifecycleSteps(json(given), '/src/app'), [
    { name: 'onCreateCommand', script: ['x /src/app', 'sh'] },
    { name: 'postCreateCommand "one"', script: ['y', 'sh'] },
    { name: 'postCreateCommand "two"', script: ['exec "$@"', 'sh', 'z'] },
    { name: 'postStartCommand', script: ['exec "$@"', 'sh', 'a', 'b c'] },
  ]);
});
