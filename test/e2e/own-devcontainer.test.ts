/** `up --devcontainer workspace` on a real engine, with a recording stand-in for the engine's client that passes all on. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { before } from 'node:test';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { definition, rig } from './own-rig.ts';

const docker = needs('docker');

before(() => {
  if (docker.skip === undefined) ensureTestImage();
});

/** Another image in every run. */
const word = `built-${process.pid}-${Date.now()}`;

const simple = {
  [definition]: JSON.stringify({
    build: { dockerfile: 'Dockerfile', context: '..', args: { WORD: word } },
    initializeCommand: 'touch initialize-canary',
    containerEnv: { PLACE: '${containerWorkspaceFolder}', WHO: '${localEnv:WHO_IT_IS}' },
    remoteEnv: { PATH: '${containerEnv:PATH}:/from-remote-env', BOTH: '${containerEnv:PLACE}/x' },
    postCreateCommand: 'sh tool/post.sh',
    postStartCommand: { one: ['sh', '-c', 'echo "$0" >> started', 'two words'] },
    mounts: ['type=volume,target=/cache'],
    capAdd: ['SYS_PTRACE'],
    remoteUser: 'root',
  }),
  '.devcontainer/Dockerfile': `FROM ${testImage}\nARG WORD\nCOPY tool/given.txt /given.txt\nENV PATH=/from-image:$PATH\nRUN echo $WORD > /word\n`,
  'tool/given.txt': 'as approved\n',
  'tool/post.sh': 'echo "post by $(id -u) with ${WRAPTOOL_TOKEN:-no token}" > post-ran\n',
};

void test(
  'without approval nothing runs: exit 3, the findings by name, no call of the engine',
  docker,
  async (t) => {
    const at = await rig(t, simple);
    const { code, stderr, stdout } = await at.up('true', '--json');
    assert.equal(code, 3, stderr);
    const { error } = JSON.parse(stdout) as { error: { code: string; problems: string[] } };
    assert.equal(error.code, 'devcontainer_unapproved');
    assert.ok(
      error.problems.some((line) => line.startsWith('cap_add /capAdd/0')),
      error.problems.join('\n'),
    );
    assert.deepEqual(await at.calls(), []);
    assert.ok(!existsSync(path.join(at.workspace, 'initialize-canary')));
  },
);

void test(
  'approved: the copy is built, its rights and variables are there, initializeCommand never runs',
  docker,
  async (t) => {
    const at = await rig(t, simple);
    at.env['WHO_IT_IS'] = 's3cret-of-the-host';
    assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
    const shown = await at.wraptool(['up', 'shell', '--devcontainer', 'workspace', '--dry-run']);
    assert.equal(shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /build wraptool-approved:[0-9a-f]{16} from the approved copy/);
    assert.doesNotMatch(shown.stdout, /s3cret-of-the-host/);
    const script =
      'cat /given.txt /word; echo $PLACE; echo $BOTH; echo $WHO; echo $PATH; cat post-ran started; grep CapBnd /proc/1/status; touch /cache 2>/dev/null; grep -c " /cache " /proc/self/mounts';
    const { code, stdout, stderr } = await at.up(script);
    assert.equal(code, 0, stderr);
    const lines = stdout.trimEnd().split('\n');
    assert.deepEqual(lines.slice(0, 2), ['as approved', word]);
    assert.deepEqual(lines.slice(2, 5), [at.workspace, `${at.workspace}/x`, 's3cret-of-the-host']);
    assert.match(lines[5] ?? '', /^\/opt\/wraptool\/node\/bin:\/from-image:.*:\/from-remote-env$/);
    assert.deepEqual(lines.slice(6, 8), [`post by ${process.getuid?.()} with no token`, 'two words']);
    assert.equal(lines[9], '1', stdout);
    const calls = await at.calls();
    const run = calls.find((call) => call[0] === 'run');
    assert.ok(run?.includes('--cap-add=SYS_PTRACE'), run?.join(' '));
    assert.ok(run?.includes('--cap-drop=ALL'));
    assert.ok(
      !calls.flat().some((word) => word.includes('s3cret-of-the-host')),
      'no value of the host on a command line',
    );
    assert.ok(
      !calls.flat().some((word) => word.includes(`${at.workspace}/.devcontainer`)),
      'only the copy is built',
    );
    assert.ok(!existsSync(path.join(at.workspace, 'initialize-canary')));
    assert.deepEqual(await readdir(path.join(at.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool')), []);
  },
);

void test(
  'a change after the approval, be it of a copied file, is refused until it is approved',
  docker,
  async (t) => {
    const at = await rig(t, simple);
    await at.wraptool(['devcontainer', 'approve', '--yes']);
    await writeFile(path.join(at.workspace, 'tool', 'given.txt'), 'as changed\n');
    const { code, stderr } = await at.up('true');
    assert.equal(code, 3, stderr);
    assert.match(stderr, /is not approved as it is now/);
    assert.deepEqual(await at.calls(), []);
  },
);

void test(
  'a lifecycle command that fails ends the start with what it said, and nothing is left',
  docker,
  async (t) => {
    const at = await rig(t, {
      [definition]: JSON.stringify({ image: testImage, postCreateCommand: 'echo what-it-said; exit 4' }),
    });
    await at.wraptool(['devcontainer', 'approve', '--yes']);
    const { code, stderr } = await at.up('echo never', '--name', `own-${process.pid}`);
    assert.equal(code, 125, stderr);
    assert.match(stderr, /postCreateCommand in the container ended with 4\n {2}what-it-said/);
    const left = execFileSync('docker', [
      'ps',
      '-aq',
      '--filter',
      `label=wraptool.session=own-${process.pid}`,
    ]);
    assert.equal(left.toString(), '');
  },
);

for (const [what, given, problem] of [
  [
    'the processes of the host',
    { image: testImage, runArgs: ['--pid', 'host'] },
    /the processes of a session must be its own/,
  ],
  [
    'a compose file',
    { dockerComposeFile: 'c.yml', service: 'a' },
    /\/dockerComposeFile: it uses a compose file: .*several containers[^]*hint: .*"image" or the "build".*--definition/,
  ],
  ['no valid JSONC', '{"image":"a"', /not valid JSON/],
  [
    'a context outside',
    { build: { dockerfile: 'Dockerfile', context: '../..' } },
    /build context is not in the workspace/,
  ],
] as const)
  void test(`approved or not, ${what} is refused with the reason`, docker, async (t) => {
    const at = await rig(t, { [definition]: typeof given === 'string' ? given : JSON.stringify(given) });
    assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
    const { code, stderr } = await at.up('true');
    assert.equal(code, 3);
    assert.match(stderr, problem);
    assert.deepEqual(await at.calls(), []);
  });

void test('--devcontainer takes one word, and no other runtime', async (t) => {
  const at = await rig(t, {});
  assert.equal((await at.wraptool(['up', 'shell', '--devcontainer', 'mine'])).code, 2);
  assert.equal(
    (await at.wraptool(['up', 'shell', '--devcontainer', 'workspace', '--runtime', 'bubblewrap'])).code,
    2,
  );
  const missing = await at.up('true', '--json');
  assert.equal(
    (JSON.parse(missing.stdout) as { error: { code: string } }).error.code,
    'devcontainer_missing',
  );
});
