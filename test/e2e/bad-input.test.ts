import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { gitConfig, place, type Place, type Result } from './place.ts';
import { main } from '../support/main.ts';

type Case = {
  readonly name: string;
  readonly config?: string;
  readonly prepare?: (where: Place) => Promise<void>;
  readonly args: (where: Place) => readonly string[];
  readonly env?: Record<string, string> | ((where: Place) => Record<string, string>);
  readonly code: number;
  /** Each must match stderr, in any order. */
  readonly says: readonly RegExp[];
};

const threeMistakes = `version: 1
tools:
  git:
    binary: /usr/bin/git
    timeot: 60s
    allow:
      - { subcommand: status, flags: [-4] }
      - { subcommand: log, read_only: maybe }
`;

const cases: readonly Case[] = [
  {
    name: 'a config with three mistakes gives three located errors',
    config: threeMistakes,
    args: () => ['up', 'shell', '--runtime', 'bubblewrap'],
    code: 2,
    says: [
      /config\.yaml:5:5\b.*timeot.*did you mean.*timeout/,
      /config\.yaml:7:\d+\b.*flags/,
      /config\.yaml:8:\d+\b.*read_only/,
      /hint:/,
    ],
  },
  {
    name: 'an unknown harness names the known ones',
    args: () => ['up', 'cluade'],
    code: 2,
    says: [/"cluade"/, /claude/, /hint:/],
  },
  {
    name: 'an unknown runtime names the known ones',
    args: () => ['up', 'shell', '--runtime', 'podman'],
    code: 2,
    says: [/"podman"/, /devcontainer, bubblewrap/],
  },
  {
    name: 'Docker that does not answer is an error with a hint',
    args: () => ['up', 'shell', '--runtime', 'devcontainer'],
    env: { DOCKER_HOST: 'unix:///nonexistent/docker.sock' },
    code: 125,
    says: [/devcontainer/, /\/nonexistent\/docker\.sock/, /hint:/],
  },
  {
    name: 'a remote Docker is refused',
    args: () => ['up', 'shell', '--runtime', 'devcontainer'],
    env: { DOCKER_HOST: 'tcp://192.0.2.1:2375' },
    code: 125,
    says: [/tcp:\/\/192\.0\.2\.1:2375/, /hint:/],
  },
  {
    name: 'the home folder is no workspace',
    args: (where) => ['up', 'shell', '--workspace', where.home],
    code: 2,
    says: [/home/, /--workspace/],
  },
  {
    name: 'the root folder is no workspace',
    args: () => ['up', 'shell', '--workspace', '/'],
    code: 2,
    says: [/'\/'/, /hint:/],
  },
  {
    name: 'a workspace that is not there',
    args: (where) => ['up', 'shell', '--workspace', `${where.dir}/none`],
    code: 2,
    says: [/\/none/, /hint:/],
  },
  {
    name: 'no config at all',
    config: '',
    prepare: async (where) => (await import('node:fs/promises')).rm(where.config),
    args: () => ['up', 'shell'],
    code: 2,
    says: [/no config/, /wraptool init/],
  },
  {
    name: 'a config that others can write',
    prepare: (where) => chmod(where.config, 0o666),
    args: () => ['up', 'shell'],
    code: 2,
    says: [/config\.yaml/, /chmod/],
  },
  {
    name: 'a config whose folder others can write',
    prepare: (where) => chmod(path.dirname(where.config), 0o777),
    args: () => ['up', 'shell'],
    code: 2,
    says: [/wraptool/, /chmod/],
  },
  {
    name: 'a config inside the workspace',
    prepare: async (where) =>
      (await import('node:fs/promises')).copyFile(where.config, path.join(where.workspace, 'w.yaml')),
    args: (where) => ['up', 'shell', '--config', path.join(where.workspace, 'w.yaml')],
    code: 2,
    says: [/w\.yaml/, /lies inside/, /hint:/],
  },
  {
    name: 'a config that is a pipe is not waited for',
    prepare: async (where) => assert.equal(spawnSync('mkfifo', [path.join(where.dir, 'pipe')]).status, 0),
    args: (where) => ['up', 'shell', '--config', path.join(where.dir, 'pipe')],
    code: 2,
    says: [/pipe/, /not a plain file/, /hint:/],
  },
  {
    name: 'a config that is an endless device is not read',
    args: () => ['up', 'shell', '--config', '/dev/zero'],
    code: 2,
    says: [/\/dev\/zero/, /not a plain file/, /hint:/],
  },
  {
    name: 'a workspace of too long a name',
    args: () => ['up', 'shell', '--workspace', 'a'.repeat(300)],
    code: 2,
    says: [/aaa/, /too long/, /--workspace/],
  },
  {
    name: 'a workspace in which wraptool keeps its cache',
    args: (where) => ['up', 'shell', '--workspace', path.join(where.dir, 'cache')],
    prepare: (where) => mkdir(path.join(where.dir, 'cache')),
    env: (where) => ({ XDG_CACHE_HOME: path.join(where.dir, 'cache') }),
    code: 2,
    says: [/cache\/wraptool/, /--workspace/],
  },
  {
    name: 'a runtime folder that is a file',
    args: () => ['up', 'shell', '--runtime', 'bubblewrap'],
    env: (where) => ({ XDG_RUNTIME_DIR: where.config }),
    code: 125,
    says: [/config\.yaml\/wraptool/, /not a folder/, /hint:/],
  },
  {
    name: 'a session name that cannot be one',
    args: () => ['up', 'shell', '--name', '../x'],
    code: 2,
    says: [/"\.\.\/x"/, /hint:/],
  },
  {
    name: 'a reserved session name',
    args: () => ['up', 'shell', '--name', 'all'],
    code: 2,
    says: [/"all"/, /reserved/],
  },
  {
    name: 'an unknown flag',
    args: () => ['up', 'shell', '--runtme', 'x'],
    code: 2,
    says: [/--runtme/, /hint:/],
  },
  { name: 'an unknown command', args: () => ['upp'], code: 2, says: [/"upp"/, /did you mean "up"/] },
  {
    name: 'down of a session that is not there',
    args: () => ['down', 'nobody'],
    code: 2,
    says: [/"nobody"/, /hint:/],
  },
];

for (const entry of cases)
  void test(`${entry.name}: a clear error, exit ${entry.code}, and nothing left`, async (t) => {
    const where = await place(t);
    await where.writeConfig(entry.config ?? gitConfig);
    await entry.prepare?.(where);
    const before = await where.files();
    const env = typeof entry.env === 'function' ? entry.env(where) : (entry.env ?? {});
    const result = await where.wraptool(entry.args(where), { env });
    for (const pattern of entry.says) assert.match(result.stderr, pattern);
    assert.doesNotMatch(result.stderr, /\bat .*\.ts:\d+/, 'no stack trace');
    assert.deepEqual({ code: result.code, stdout: result.stdout }, { code: entry.code, stdout: '' });
    assert.deepEqual(await where.files(), before);
  });

void test('a busy port names the address and exits 1', async (t) => {
  const where = await place(t);
  const holder = net.createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  t.after(() => holder.close());
  const { port } = holder.address() as net.AddressInfo;
  await where.writeConfig(
    `${gitConfig}mcp: { listen: '127.0.0.1:${port}', allowed_cwd_roots: [${where.workspace}] }\n`,
  );
  const result = await where.wraptool(['serve'], { env: { WRAPTOOL_TOKEN: 'x'.repeat(43) } });
  assert.equal(result.code, 1);
  assert.match(result.stderr, new RegExp(`127\\.0\\.0\\.1:${port}`));
  assert.match(result.stderr, /hint:/);
});

void test(
  'missing bubblewrap is an error with the command that installs it',
  { skip: process.getuid?.() === 0 ? false : 'hiding /usr/bin/bwrap needs root' },
  async (t) => {
    const where = await place(t);
    await where.writeConfig(gitConfig);
    const result = await hidden(where, '/usr/bin/bwrap', ['up', 'shell', '--runtime', 'bubblewrap']);
    assert.equal(result.code, 125);
    assert.match(result.stderr, /bubblewrap/);
    assert.match(result.stderr, /apt-get install .*bubblewrap/);
  },
);

/** Runs the CLI in a mount namespace where one program cannot be run. */
async function hidden(where: Place, program: string, args: readonly string[]): Promise<Result> {
  const { spawn } = await import('node:child_process');
  const { finish } = await import('./place.ts');
  await mkdir(path.join(where.dir, 'empty'));
  const child = spawn(
    'unshare',
    [
      '--mount',
      'sh',
      '-c',
      'mount --bind /dev/null "$1" && shift && exec "$@"',
      'sh',
      program,
      process.execPath,
      main,
      ...args,
    ],
    { cwd: where.workspace, env: where.env, stdio: 'pipe' },
  );
  return finish(child, '');
}

void test('with --json an error is one JSON object on stdout', async (t) => {
  const where = await place(t);
  await where.writeConfig(gitConfig);
  const result = await where.wraptool(['up', 'nobody', '--json']);
  assert.equal(result.code, 2);
  for (const line of result.stderr.split('\n').slice(0, -1))
    assert.equal((JSON.parse(line) as { event: string }).event, 'step');
  const { error } = JSON.parse(result.stdout) as { error: { code: string; message: string; hint: string } };
  assert.equal(error.code, 'harness_unknown');
  assert.match(error.hint, /claude/);
});
