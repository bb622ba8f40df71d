import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { writeHome } from '../../src/harness/seed.ts';
import type { InjectedFile } from '../../src/harness/types.ts';
import { needs } from '../support/real.ts';

const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-seed-'));
after(() => rm(scratch, { recursive: true, force: true }));

const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const seed: InjectedFile = { where: 'home', path: '.claude.json', format: 'json', content: '{"seen":true}' };
const deep: InjectedFile = { where: 'home', path: '.config/a/b.txt', format: 'text', content: 'hello\n' };

async function folders(): Promise<{ home: string; outside: string }> {
  const root = await mkdtemp(path.join(scratch, 'case-'));
  const [home, outside] = [path.join(root, 'home'), path.join(root, 'outside')];
  await mkdir(home, { mode: 0o700 });
  await mkdir(outside);
  await writeFile(path.join(outside, 'secret'), 'the host’s own');
  return { home, outside };
}

/** What is outside must be as it was. */
async function untouched(outside: string): Promise<void> {
  assert.deepEqual(await readdir(outside), ['secret']);
  assert.equal(await readFile(path.join(outside, 'secret'), 'utf8'), 'the host’s own');
}

test('a missing HOME is made for its owner alone, with the files in it', async () => {
  const home = path.join(scratch, 'new/home');
  assert.deepEqual(await writeHome(home, [seed, deep, { ...seed, where: 'session', path: 'no' }], me), []);
  assert.deepEqual((await readdir(home, { recursive: true })).sort(), [
    '.claude.json',
    '.config',
    '.config/a',
    '.config/a/b.txt',
  ]);
  assert.equal(await readFile(path.join(home, '.claude.json'), 'utf8'), '{"seen":true}');
  for (const [name, mode] of [
    ['', 0o700],
    ['.claude.json', 0o600],
    ['.config/a', 0o700],
    ['.config/a/b.txt', 0o600],
  ] as const)
    assert.equal((await stat(path.join(home, name))).mode & 0o777, mode, name);
});

test('a login that is there stays, twice changes nothing, and text is replaced', async () => {
  const { home } = await folders();
  const there = { oauthAccount: { token: 'kept' }, seen: false, projects: { '/other': { x: 1 } } };
  await writeFile(path.join(home, '.claude.json'), JSON.stringify(there));
  const content = JSON.stringify({ seen: true, projects: { '/ws': { y: 2 } } });
  const files = [{ ...seed, content }, deep];
  assert.deepEqual(await writeHome(home, files, me), []);
  const merged = await readFile(path.join(home, '.claude.json'), 'utf8');
  assert.deepEqual(JSON.parse(merged), {
    oauthAccount: { token: 'kept' },
    seen: true,
    projects: { '/other': { x: 1 }, '/ws': { y: 2 } },
  });
  const before = await stat(path.join(home, '.claude.json'));
  await writeHome(home, [...files, { ...deep, content: 'again\n' }], me);
  assert.equal((await stat(path.join(home, '.claude.json'))).ino, before.ino);
  assert.equal(await readFile(path.join(home, '.config/a/b.txt'), 'utf8'), 'again\n');
});

describe('what cannot be merged is set aside and said:', () => {
  const nested = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  for (const [name, text] of [
    ['no JSON', '{"a":'],
    ['a list', '[1]'],
    ['null', 'null'],
    ['nothing', ''],
    ['JSON nested deeper than can be written', `{"a":${nested}}`],
    ['more than can be read', ' '.repeat(17 * 1024 * 1024)],
  ] as const)
    test(name, async () => {
      const { home } = await folders();
      const file = path.join(home, '.claude.json');
      await writeFile(file, text);
      assert.deepEqual(await writeHome(home, [seed], me), [
        `"${file}" was not JSON that can be merged: set aside as ".claude.json.unreadable"`,
      ]);
      assert.equal(await readFile(file, 'utf8'), '{"seen":true}');
      assert.equal((await stat(`${file}.unreadable`)).size, Buffer.byteLength(text));
    });
});

describe('refused, and nothing outside is read or written, where an agent left', () => {
  type Trap = (home: string, outside: string) => Promise<unknown>;
  const traps: [name: string, files: InjectedFile[], trap: Trap, where: string][] = [
    [
      'a link in the place of the file',
      [seed],
      (home, outside) => symlink(path.join(outside, 'secret'), path.join(home, '.claude.json')),
      '.claude.json',
    ],
    [
      'a dangling link in the place of the file',
      [seed],
      (home, outside) => symlink(path.join(outside, 'new'), path.join(home, '.claude.json')),
      '.claude.json',
    ],
    [
      'a link in the place of the folder',
      [deep],
      (home, outside) => symlink(outside, path.join(home, '.config')),
      '.config',
    ],
    [
      'a link in the place of a deeper folder',
      [deep],
      async (home, outside) => {
        await mkdir(path.join(home, '.config'));
        await symlink(outside, path.join(home, '.config/a'));
      },
      '.config/a',
    ],
    [
      'a dangling link in the place of the folder',
      [deep],
      (home, outside) => symlink(path.join(outside, 'new'), path.join(home, '.config')),
      '.config',
    ],
    [
      'a file in the place of the folder',
      [deep],
      (home) => writeFile(path.join(home, '.config'), ''),
      '.config',
    ],
    [
      'a folder in the place of the file',
      [seed],
      (home) => mkdir(path.join(home, '.claude.json')),
      '.claude.json',
    ],
    [
      'a FIFO in the place of the file',
      [seed],
      async (home) => execFileSync('mkfifo', [path.join(home, '.claude.json')]),
      '.claude.json',
    ],
    [
      'a second name of a file of the host',
      [seed],
      (home, outside) => link(path.join(outside, 'secret'), path.join(home, '.claude.json')),
      '.claude.json',
    ],
    [
      'a link in the place of HOME itself',
      [seed],
      async (home, outside) => {
        await rm(home, { recursive: true });
        await symlink(outside, home);
      },
      '',
    ],
  ];
  for (const [name, files, trap, where] of traps)
    test(name, async () => {
      const { home, outside } = await folders();
      await trap(home, outside);
      await assert.rejects(writeHome(home, files, me), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'home_unsafe');
        assert.ok(error.message.startsWith(`"${path.join(home, where)}"`), error.message);
        return true;
      });
      await untouched(outside);
    });
});

test('a HOME that an agent fills with links meanwhile is never left', async () => {
  const { home, outside } = await folders();
  const folder = path.join(home, '.config');
  let stop = false;
  const swap = async (): Promise<void> => {
    while (!stop) {
      await rm(folder, { recursive: true, force: true }).catch(expect('ENOTEMPTY', 'ENOTDIR'));
      await symlink(outside, folder).catch(expect('EEXIST'));
      await rm(folder, { recursive: true, force: true }).catch(expect('ENOTEMPTY', 'ENOTDIR'));
      await mkdir(path.join(folder, 'a'), { recursive: true }).catch(expect('EEXIST', 'ENOENT', 'ENOTDIR'));
    }
  };
  const swapping = swap();
  let written = 0;
  for (let round = 0; round < 1000; round += 1)
    await writeHome(home, [{ ...deep, content: `${round}\n` }], me).then(
      () => (written += 1),
      expect('home_unsafe', 'ENOENT'),
    );
  stop = true;
  await swapping;
  assert.ok(written > 0, 'the race let nothing through');
  await untouched(outside);
});

function expect(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => assert.ok(codes.includes(error.code ?? ''), `${error.code}: ${error.message}`);
}

test('root writes for the owner of the workspace', needs('root'), async () => {
  const { home } = await folders();
  await rm(home, { recursive: true });
  const owner = { uid: 1500, gid: 1501 };
  await writeHome(home, [seed, deep], owner);
  for (const name of ['', '.claude.json', '.config', '.config/a', '.config/a/b.txt']) {
    const { uid, gid } = await lstat(path.join(home, name));
    assert.deepEqual({ uid, gid }, owner, name);
  }
});

test('a folder that may not be opened is said, not passed over', async (context) => {
  if (process.getuid?.() === 0) return context.skip('root opens every folder');
  const { home } = await folders();
  await mkdir(path.join(home, '.config'));
  await chmod(path.join(home, '.config'), 0);
  await assert.rejects(writeHome(home, [deep], me), { code: 'home_unsafe' });
});

test('a path out of HOME is a fault of ours', async () => {
  const { home, outside } = await folders();
  for (const name of ['../outside/secret', '/etc/x', 'a/../../b', ''])
    await assert.rejects(writeHome(home, [{ ...seed, path: name }], me), { code: 'internal' }, name);
  await untouched(outside);
});

describe('data is merged in the client’s own format:', () => {
  const cases: [format: 'json' | 'toml' | 'yaml', there: string, content: string, merged: string][] = [
    [
      'json',
      '// Written by the client.\n{ "login": "kept", /* and */ "folders": ["/a"], }\n',
      '{"folders":["/b"]}',
      '{\n  "login": "kept",\n  "folders": [\n    "/a",\n    "/b"\n  ]\n}\n',
    ],
    [
      'toml',
      'model = "own"\n\n[projects."/a"]\ntrust_level = "trusted"\n',
      '[projects."/b \\"quoted\\""]\ntrust_level = "trusted"\n',
      'model = "own"\n\n[projects."/a"]\ntrust_level = "trusted"\n\n[projects."/b \\"quoted\\""]\ntrust_level = "trusted"\n',
    ],
    [
      'yaml',
      'GOOSE_MODEL: own\nextensions:\n  mine: { enabled: true }\n',
      'extensions:\n  wraptool:\n    enabled: true\n',
      'GOOSE_MODEL: own\nextensions:\n  mine:\n    enabled: true\n  wraptool:\n    enabled: true\n',
    ],
  ];
  for (const [format, there, content, merged] of cases)
    test(format, async () => {
      const { home } = await folders();
      const file = { where: 'home', path: 'config', format, content } as const;
      await writeFile(path.join(home, 'config'), there);
      assert.deepEqual(await writeHome(home, [file], me), []);
      assert.equal((await readFile(path.join(home, 'config'), 'utf8')).trim(), merged.trim());
      const before = await stat(path.join(home, 'config'));
      await writeHome(home, [file], me);
      assert.equal((await stat(path.join(home, 'config'))).ino, before.ino, 'twice changes nothing');
    });

  const broken: [format: 'json' | 'toml' | 'yaml', there: string][] = [
    ['json', '{ "a": '],
    ['toml', 'a = = 1'],
    ['toml', `a = ${'['.repeat(100_000)}`],
    ['yaml', 'a: [1'],
    ['yaml', 'a: *missing'],
    [
      'yaml',
      `a: &x [1]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &x${n} [${'*x, '.repeat(9)}]`).join('\n')}`,
    ],
    ['yaml', '- a list'],
    ['yaml', '['.repeat(50_000)],
  ];
  for (const [format, there] of broken)
    test(`what is no ${format} map is set aside: ${there.slice(0, 20)}`, async () => {
      const { home } = await folders();
      const content = format === 'toml' ? 'a = 1\n' : '{"a":1}';
      await writeFile(path.join(home, 'config'), there);
      const notes = await writeHome(home, [{ where: 'home', path: 'config', format, content }], me);
      assert.deepEqual(notes, [
        `"${path.join(home, 'config')}" was not ${format.toUpperCase()} that can be merged: set aside as "config.unreadable"`,
      ]);
      assert.equal(await readFile(path.join(home, 'config.unreadable'), 'utf8'), there);
    });
});
