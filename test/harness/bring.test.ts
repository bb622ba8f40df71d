/** Clients for another machine than this one, and clients that the operator brings. */
import assert from 'node:assert/strict';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseDescriptor } from '../../src/harness/parse.ts';
import { hostPlatform, platformOf } from '../../src/harness/platform.ts';
import { provide } from '../../src/harness/provide.ts';
import { needs } from '../support/real.ts';
import { startResident, type Resident } from '../support/resident.ts';
import { outerAddress, startRegistry, type Registry } from './registry.ts';

const address = outerAddress();
const real = needs('linux', 'bubblewrap', 'network-private');
const options = real.skip === undefined && address === null ? { skip: 'this host has loopback alone' } : real;

const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-bring-'));
const home = path.join(scratch, 'home');
await mkdir(path.join(home, '.config/wraptool/harnesses'), { recursive: true });
let cli: Resident;
let registry: Registry;

const platforms = [
  'linux-x64-glibc',
  'linux-x64-musl',
  'linux-arm64-glibc',
  'linux-arm64-musl',
  'darwin-arm64',
];
const optional = Object.fromEntries(platforms.map((name) => [`bin-${name}`, '1.0.0']));

before(async () => {
  registry = await startRegistry(address ?? '127.0.0.1', () => [
    { name: 'many', version: '1.0.0', files: { cli: 'x' }, optionalDependencies: optional },
    { name: 'scripted', version: '1.0.0', files: { cli: 'x' }, scripts: { postinstall: 'true' } },
    ...platforms.map((name) => {
      const [system = '', cpu = '', libc] = name.split('-');
      const here = { os: [system], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
      return { name: `bin-${name}`, version: '1.0.0', files: { bin: 'x' }, ...here };
    }),
  ]);
  cli = startResident({
    HOME: home,
    PATH: process.env['PATH'] ?? '',
    npm_config_registry: registry.url,
  });
});
after(async () => {
  await cli.end();
  await registry.close();
  await rm(scratch, { recursive: true, force: true });
});

async function own(name: string, rest: string): Promise<void> {
  const file = path.join(home, '.config/wraptool/harnesses', `${name}.yaml`);
  await writeFile(file, `version: 1\nname: ${name}\ntitle: ${name}\nlist_changed: false\n${rest}\n`);
}

const problem = (stdout: string): { code: string; message: string; hint: string } =>
  (JSON.parse(stdout) as { error: { code: string; message: string; hint: string } }).error;

describe('an installation for another machine', options, () => {
  const many =
    "command: ['%{harness}/node_modules/many/cli']\ninstall: { npm: { package: many, version: 1.0.0 } }";
  const host = hostPlatform();
  for (const [argv, wanted] of [
    [[], `${host.os}-${host.cpu}-${host.libc ?? ''}`],
    [['--libc', 'musl'], `linux-${host.cpu}-musl`],
    [['--os', 'darwin', '--cpu', 'arm64'], 'darwin-arm64'],
    [['--cpu', 'arm64'], 'linux-arm64-glibc'],
    [['--cpu', 'arm64', '--libc', 'musl'], 'linux-arm64-musl'],
  ] as const)
    test(`${argv.join(' ') || 'this one'} takes what is for it, and lies beside`, async () => {
      await own('many', many);
      const said = await cli.wraptool('harness', 'install', 'many', ...argv, '--json');
      assert.equal(said.code, 0, said.stderr);
      const { dir } = JSON.parse(said.stdout) as { dir: string };
      const names = await readdir(path.join(dir, 'node_modules'));
      assert.deepEqual(
        names.filter((name) => name.startsWith('bin-')),
        [`bin-${wanted}`],
      );
      assert.equal(path.basename(path.dirname(dir)), argv.length === 0 ? '1.0.0' : `1.0.0@${wanted}`);
    });

  test('is refused where install scripts would choose for this one', async () => {
    await own(
      'scripted',
      "command: ['%{harness}/node_modules/scripted/cli']\ninstall: { npm: { package: scripted, version: 1.0.0, scripts: [scripted] } }",
    );
    const said = await cli.wraptool('harness', 'install', 'scripted', '--cpu', 's390x', '--json');
    assert.deepEqual([said.code, problem(said.stdout).code], [1, 'harness_install_failed']);
    assert.match(problem(said.stdout).message, /cannot be installed for linux-s390x-glibc on this machine/);
  });
});

describe('a platform', () => {
  test('is this machine’s where nothing is said, and of glibc on another system', () => {
    assert.deepEqual(platformOf({}), hostPlatform());
    assert.deepEqual(platformOf({ os: 'darwin', cpu: 'arm64' }), { os: 'darwin', cpu: 'arm64', libc: null });
  });
  for (const flags of [{ os: 'plan9' }, { cpu: 'vax' }, { libc: 'dietlibc' }, { os: 'darwin', libc: 'musl' }])
    test(`${JSON.stringify(flags)} is refused`, () =>
      assert.throws(() => platformOf(flags), { code: 'usage' }));
});

describe('a client that npm alone cannot provide', () => {
  const rest =
    "command: ['%{harness}/byhand', serve]\ninstall: { manual: { file: byhand, how: 'get it from https://example.org/byhand' } }";

  test('is refused with how to provide it', async () => {
    await own('byhand', rest);
    for (const argv of [
      ['harness', 'install', 'byhand'],
      ['harness', 'check', 'byhand'],
    ]) {
      const said = await cli.wraptool(...argv, '--json');
      assert.deepEqual(
        [said.code, problem(said.stdout)],
        [
          1,
          {
            code: 'harness_install_failed',
            message: '"byhand" is not installed, and npm alone cannot provide it',
            hint: 'get it from https://example.org/byhand; then: wraptool harness install byhand --from FILE',
          },
        ],
      );
    }
  });

  test('is taken from the operator’s file, sealed, and no more needed', needs('linux'), async () => {
    await own('byhand', rest);
    const file = path.join(scratch, 'program');
    await writeFile(file, '#!/bin/sh\necho mine\n', { mode: 0o755 });
    const said = await cli.wraptool('harness', 'install', 'byhand', '--from', file, '--json');
    const dir = path.join(home, '.cache/wraptool/harnesses/byhand/local/tree');
    assert.deepEqual(JSON.parse(said.stdout), { harness: 'byhand', version: 'local', dir });
    assert.equal((await stat(path.join(dir, 'byhand'))).mode & 0o7777, 0o555);
    await rm(file);
    const descriptor = parseDescriptor(
      `version: 1\nname: byhand\ntitle: b\nlist_changed: false\n${rest}\n`,
      'f.yaml',
    );
    const again = await provide(descriptor, {
      env: { HOME: home },
      confineInstall: 'auto',
      progress: () => undefined,
      signal: new AbortController().signal,
    });
    assert.equal(again?.dir, dir);
    assert.equal(await readFile(path.join(dir, 'byhand'), 'utf8'), '#!/bin/sh\necho mine\n');
    await chmod(path.join(dir, 'byhand'), 0o755);
    await writeFile(path.join(dir, 'byhand'), 'other');
    const changed = await cli.wraptool('harness', 'install', 'byhand', '--json');
    assert.equal(problem(changed.stdout).message, '"byhand" was changed since it was installed');
  });

  test('may be a folder with the program in it', needs('linux'), async () => {
    await own(
      'unpacked',
      rest.replaceAll('byhand', 'unpacked').replace('file: unpacked', 'file: bin/unpacked'),
    );
    const folder = path.join(scratch, 'unpacked');
    await mkdir(path.join(folder, 'bin'), { recursive: true });
    await writeFile(path.join(folder, 'bin/unpacked'), '#!/bin/sh\n', { mode: 0o755 });
    await writeFile(path.join(folder, 'data'), 'd');
    await symlink('bin/unpacked', path.join(folder, 'link'));
    const said = await cli.wraptool('harness', 'install', 'unpacked', '--from', folder, '--json');
    const { dir } = JSON.parse(said.stdout) as { dir: string };
    assert.deepEqual((await readdir(dir, { recursive: true })).sort(), [
      'bin',
      'bin/unpacked',
      'data',
      'link',
    ]);
    assert.equal(await readlink(path.join(dir, 'link')), 'bin/unpacked');
  });

  for (const [what, name, from] of [
    ['a file that is not there', 'byhand', '/nonexistent'],
    ['a file that nobody can run', 'byhand', fileURLToPath(import.meta.url)],
    ['a folder without it', 'byhand', '/etc'],
    ['a program for a client that npm provides', 'claude', '/bin/sh'],
  ] as const)
    test(`${what} is not taken`, async () => {
      await own('byhand', rest);
      const said = await cli.wraptool('harness', 'install', name, '--from', from, '--json');
      assert.deepEqual([said.code, problem(said.stdout).code], [2, 'usage']);
    });
});
