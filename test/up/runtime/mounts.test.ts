/** What a hostile workspace can make of its own `.git`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { workspaceMounts } from '../../../src/up/runtime/mounts.ts';
import { needs } from '../../support/real.ts';
import { git } from './rig.ts';

const owner = { uid: process.getuid!(), gid: process.getgid!() };

function place(t: TestContext): { dir: string; path: string } {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'wraptool-mounts-')));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'workspace');
  mkdirSync(path);
  return { dir, path };
}

async function mounted(
  path: string,
  make = true,
): Promise<{ readOnly: string[]; writable: string[]; over: string[]; proven: string[] }> {
  const found = await workspaceMounts({ path, ...owner }, { make });
  return {
    readOnly: found.readOnly.map((bind) => bind.source),
    writable: found.writable.map((bind) => bind.source),
    over: found.readOnlyOver.map((bind) => bind.source),
    proven: found.identities.map((one) => one.path),
  };
}

test('a repository: .git writable, its hooks read-only, all proven', async (t) => {
  const { path } = place(t);
  git(path, ['init', '-q']);
  const [dotGit, hooks] = [join(path, '.git'), join(path, '.git/hooks')];
  assert.deepEqual(await mounted(path), {
    readOnly: [],
    writable: [path, dotGit],
    over: [hooks],
    proven: [path, dotGit, hooks],
  });
});

test('a missing hooks folder is made, but not for a dry run', async (t) => {
  const { path } = place(t);
  git(path, ['init', '-q', '--template=']);
  const hooks = join(path, '.git/hooks');
  await mounted(path, false);
  assert.ok(!existsSync(hooks));
  await mounted(path);
  assert.ok(statSync(hooks).isDirectory());
});

const links: readonly [string, (path: string, outside: string) => void][] = [
  ['.git is a link', (path, outside) => symlinkSync(outside, join(path, '.git'))],
  [
    '.git/hooks is a link',
    (path, outside) => {
      mkdirSync(join(path, '.git'));
      symlinkSync(outside, join(path, '.git/hooks'));
    },
  ],
  [
    '.git/hooks is a dangling link',
    (path) => {
      mkdirSync(join(path, '.git'));
      symlinkSync('/nowhere', join(path, '.git/hooks'));
    },
  ],
  [
    '.git/hooks is a file',
    (path) => {
      mkdirSync(join(path, '.git'));
      writeFileSync(join(path, '.git/hooks'), '');
    },
  ],
];

for (const [name, make] of links) {
  test(`${name}: refused`, async (t) => {
    const { dir, path } = place(t);
    const outside = join(dir, 'outside');
    mkdirSync(outside);
    make(path, outside);
    await assert.rejects(mounted(path), { code: 'workspace_refused' });
  });
}

test('a linked worktree: the repository read-only, the parts that a commit writes writable', async (t) => {
  const { dir, path } = place(t);
  git(path, ['init', '-q']);
  git(path, ['commit', '-q', '--allow-empty', '-m', 'one']);
  const tree = join(dir, 'tree');
  git(path, ['worktree', 'add', '-q', tree]);
  const common = join(path, '.git');
  const parts = ['objects', 'refs', 'logs', 'worktrees/tree'].map((name) => join(common, name));
  assert.deepEqual(await mounted(tree), {
    readOnly: [common],
    writable: [tree, ...parts],
    over: [],
    proven: [tree, common, ...parts],
  });
});

test('a worktree inside its main repository’s folder', async (t) => {
  const { path } = place(t);
  git(path, ['init', '-q']);
  git(path, ['commit', '-q', '--allow-empty', '-m', 'one']);
  const tree = join(path, '.trees/x');
  git(path, ['worktree', 'add', '-q', tree]);
  assert.deepEqual((await mounted(tree)).readOnly, [join(path, '.git')]);
});

test('a .git that points at a repository which does not know this worktree: refused', async (t) => {
  const { dir, path } = place(t);
  const other = join(dir, 'other');
  mkdirSync(other);
  git(other, ['init', '-q']);
  git(other, ['commit', '-q', '--allow-empty', '-m', 'one']);
  git(other, ['worktree', 'add', '-q', join(dir, 'theirs')]);
  writeFileSync(join(path, '.git'), `gitdir: ${other}/.git/worktrees/theirs\n`);
  await assert.rejects(mounted(path), { code: 'workspace_refused' });
});

test('a .git that points at any folder, or at itself, mounts nothing more', async (t) => {
  const { path } = place(t);
  for (const to of ['/root', '/etc/worktrees', '/etc', '../..', '.', '', `${path}/x/worktrees/y`]) {
    writeFileSync(join(path, '.git'), `gitdir: ${to}\n`);
    assert.deepEqual(await mounted(path), { readOnly: [], writable: [path], over: [], proven: [path] }, to);
  }
});

test('a forged repository that the workspace made, with links to the host’s folders: refused', async (t) => {
  const { dir, path } = place(t);
  // As if an earlier session could write here: its worktree part points back, its objects lead away.
  const forged = join(dir, 'forged');
  mkdirSync(join(forged, 'worktrees/w'), { recursive: true });
  writeFileSync(join(forged, 'worktrees/w/gitdir'), `${join(path, '.git')}\n`);
  writeFileSync(join(path, '.git'), `gitdir: ${forged}/worktrees/w\n`);
  symlinkSync('/etc', join(forged, 'objects'));
  await assert.rejects(mounted(path), { code: 'workspace_refused' });
  rmSync(join(forged, 'objects'));
  renameSync(join(forged, 'worktrees'), join(forged, 'real'));
  symlinkSync('real', join(forged, 'worktrees'));
  await assert.rejects(mounted(path), { code: 'workspace_refused' });
});

/** As a user that is not root and has only these rights on `.git`: what becomes of a missing hooks folder. */
function asStranger(path: string, uid: number): string {
  const mounts = fileURLToPath(new URL('../../../src/up/runtime/mounts.ts', import.meta.url));
  const script = `const { workspaceMounts } = await import(${JSON.stringify(mounts)});
    try { console.log(JSON.stringify((await workspaceMounts({ path: ${JSON.stringify(path)}, uid: ${uid}, gid: ${uid} }, { make: true })).readOnlyOver)); }
    catch (error) { console.log(error.code, error.message, error.hint); }`;
  const words = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath];
  const done = spawnSync('setpriv', [...words, '--input-type=module', '-e', script], {
    cwd: '/',
    encoding: 'utf8',
  });
  assert.equal(done.stderr, '');
  return done.stdout.trim();
}

test(
  'a hooks folder that cannot be made: refused where the agent could make it',
  needs('other-user'),
  (t) => {
    const { dir, path } = place(t);
    git(path, ['init', '-q', '--template=']);
    for (const folder of [dir, path, join(path, '.git')]) chmodSync(folder, 0o755);
    // Not the agent's: it cannot either.
    assert.equal(asStranger(path, 65534), '[]');
    chownSync(join(path, '.git'), 65534, 65534);
    chmodSync(join(path, '.git'), 0o555);
    assert.match(
      asStranger(path, 65534),
      /^workspace_refused .*has no folder 'hooks'.* mkdir -p .*chmod u\+w/,
    );
    chmodSync(join(path, '.git'), 0o755);
    assert.match(asStranger(path, 65534), /"source":".*\.git\/hooks"/);
  },
);
