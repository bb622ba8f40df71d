/** What a session changed among the files that run on the operator's own next command. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { lookAt } from '../../src/up/aftermath/look.ts';
import { changedLines } from '../../src/up/aftermath/tell.ts';
import { repositoryBeyond } from '../../src/up/runtime/mounts.ts';
import { needs } from '../support/real.ts';

const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

function place(t: TestContext): string {
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'wraptool-aftermath-')));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function put(dir: string, name: string, text: string, mode = 0o644): void {
  mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
  writeFileSync(path.join(dir, name), text, { mode });
}

function git(dir: string, ...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@x', ...args], {
    cwd: dir,
    env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  });
}

/** What is told of a change, without the head. */
async function told(dir: string, change: () => void, gitFolders: readonly string[] = []): Promise<string[]> {
  const before = await lookAt(dir, gitFolders);
  change();
  const [head, ...lines] = changedLines(before, await lookAt(dir, gitFolders));
  if (head !== undefined)
    assert.equal(head, 'changed in the workspace, and runs on your own next command there:');
  return lines.map((line) => line.trim());
}

const changes: readonly { does: string; change: (dir: string) => void; told: readonly string[] }[] = [
  { does: 'a source file', change: (dir) => put(dir, 'src/a.ts', 'x'), told: [] },
  { does: 'a commit', change: (dir) => git(dir, 'commit', '-q', '--allow-empty', '-m', 'x'), told: [] },
  { does: 'an .envrc', change: (dir) => put(dir, '.envrc', 'x'), told: ['.envrc (new): direnv'] },
  {
    does: 'tasks of an editor, in a package of a monorepo',
    change: (dir) => put(dir, 'packages/a/.vscode/tasks.json', '{}'),
    told: ['packages/a/.vscode/tasks.json (new): VS Code'],
  },
  {
    does: 'a script of a package',
    change: (dir) => put(dir, 'package.json', '{"scripts":{"test":"evil"}}'),
    told: ['package.json (changed): npm and its like'],
  },
  {
    does: 'a dependency of a package alone',
    change: (dir) => put(dir, 'package.json', '{"scripts":{"test":"t"},"dependencies":{"a":"1"}}'),
    told: [],
  },
  {
    does: 'a package.json that is none any more',
    change: (dir) => put(dir, 'package.json', '{'),
    told: ['package.json (changed): npm and its like'],
  },
  {
    does: 'the repository’s config',
    change: (dir) => git(dir, 'config', 'core.fsmonitor', 'evil'),
    told: ['.git/config (changed): git'],
  },
  {
    does: 'a hook, and one that can be run now',
    change: (dir) => {
      put(dir, '.git/hooks/pre-push', '#!/bin/sh\n', 0o755);
      chmodSync(path.join(dir, '.git/hooks/pre-commit'), 0o755);
    },
    told: ['.git/hooks/pre-commit (changed): git', '.git/hooks/pre-push (new): git'],
  },
  {
    does: 'the config of a submodule, attributes, alternates',
    change: (dir) => {
      put(dir, '.git/modules/a/b/config', '[core]\n');
      put(dir, '.git/info/attributes', '* filter=x\n');
      put(dir, '.git/objects/info/alternates', '/else\n');
    },
    told: [
      '.git/info/attributes (new): git',
      '.git/modules/a/b/config (new): git',
      '.git/objects/info/alternates (new): git',
    ],
  },
  {
    does: 'another repository in the place of this one',
    change: (dir) => {
      renameSync(path.join(dir, '.git'), path.join(dir, 'aside'));
      put(dir, '.git', 'gitdir: /elsewhere\n');
    },
    told: ['.git (new): git', '.git/config (removed): git', '.git/hooks/pre-commit (removed): git'],
  },
  {
    does: 'a link in the place of a file',
    change: (dir) => symlinkSync('/etc/passwd', path.join(dir, 'Makefile')),
    told: ['Makefile (new): make and its like'],
  },
  {
    does: 'a pipe in the place of a file, which nobody writes to',
    change: (dir) => execFileSync('mkfifo', [path.join(dir, 'justfile')]),
    told: ['justfile (new): make and its like'],
  },
  {
    does: 'the settings of an agent, whose hooks run on the host',
    change: (dir) => put(dir, '.claude/settings.json', '{}'),
    told: ['.claude/settings.json (new): Claude Code on your host'],
  },
];

for (const { does, change, told: expected } of changes)
  void test(`changed: ${does}`, needs('git'), async (t) => {
    const dir = place(t);
    git(dir, 'init', '-q', '--template=');
    put(dir, '.git/hooks/pre-commit', '#!/bin/sh\n');
    put(dir, 'package.json', '{"scripts":{"test":"t"}}');
    assert.deepEqual(await told(dir, () => change(dir)), expected);
  });

void test(
  'a linked worktree: its own part of the repository, which lies outside',
  needs('git'),
  async (t) => {
    const dir = place(t);
    const main = path.join(dir, 'main');
    mkdirSync(main);
    git(main, 'init', '-q');
    git(main, 'commit', '-q', '--allow-empty', '-m', 'x');
    const tree = path.join(dir, 'tree');
    git(main, 'worktree', 'add', '-q', tree);
    const shared = await repositoryBeyond({ path: tree, ...own });
    const folders = shared.filter(({ writable }) => writable).map((folder) => folder.path);
    const at = path.join(main, '.git/worktrees/tree');
    assert.deepEqual(await told(tree, () => put(at, 'commondir', '/elsewhere\n'), folders), [
      `${at}/commondir (changed): git`,
    ]);
  },
);

void test('links are not followed: folders behind them are not looked at', async (t) => {
  const dir = place(t);
  const outside = place(t);
  symlinkSync(outside, path.join(dir, 'link'));
  assert.deepEqual(await told(dir, () => put(outside, '.envrc', 'x')), []);
});

void test('a workspace that is too large is said to be', async (t) => {
  const dir = place(t);
  for (let folder = 0; folder < 52; folder += 1) {
    mkdirSync(path.join(dir, String(folder)));
    for (let file = 0; file < 1000; file += 1)
      writeFileSync(path.join(dir, String(folder), String(file)), '');
  }
  const look = await lookAt(dir);
  assert.deepEqual(changedLines(look, look), [
    'the workspace is too large to look for all that would run on your next command there',
  ]);
});

void test('of many changes the first are listed and the others counted', async (t) => {
  const dir = place(t);
  const lines = await told(dir, () => {
    for (let at = 0; at < 100; at += 1) put(dir, `p${at}/.envrc`, '');
  });
  assert.deepEqual([lines.length, lines.at(-1)], [41, 'and 60 more']);
});
