/** Repositories as people have them: the guard's status and diff are git's own, and commit, fetch and push work. */
import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Executor } from '../../../src/executor/types.ts';
import { needs } from '../../support/real.ts';
import { commitFile, git, guarded, makeClone, makePlace, newExecutor, type Place } from './support.ts';

let executor: Executor;
before(() => {
  executor = newExecutor();
});
after(() => executor.close());

type Made = { readonly repo: string; readonly bare: string };
type State = {
  readonly name: string;
  readonly clone?: readonly string[];
  /** Keys of the repository's own config. */
  readonly config?: Readonly<Record<string, string>>;
  /** Makes the state; returns where calls are made when it isn't the clone's top. */
  readonly make?: (made: Made, place: Place) => Promise<string | void>;
  /** Why a commit fails with plain git too. */
  readonly commitFails?: true;
};

async function hook(repo: string, name: string, folder = '.git/hooks'): Promise<void> {
  await mkdir(join(repo, folder), { recursive: true });
  await writeFile(join(repo, folder, name), '#!/bin/sh\nexit 0\n');
  await chmod(join(repo, folder, name), 0o755);
}

const states: readonly State[] = [
  { name: 'fresh clone' },
  {
    name: 'linked worktree, absolute pointer, cwd in it',
    make: async ({ repo }, place) => {
      await git(repo, 'worktree', 'add', '-q', '-b', 'wt', join(place.workspace, 'wt'));
      return join(place.workspace, 'wt');
    },
  },
  {
    name: 'linked worktree, relative pointer',
    make: async ({ repo }, place) => {
      await git(repo, 'worktree', 'add', '-q', '-b', 'wt', join(place.workspace, 'wt'));
      await writeFile(join(place.workspace, 'wt/.git'), 'gitdir: ../app/.git/worktrees/wt\n');
      return join(place.workspace, 'wt');
    },
  },
  {
    name: 'main tree that has linked worktrees',
    make: async ({ repo }, place) => {
      await git(repo, 'worktree', 'add', '-q', '-b', 'wt', join(place.workspace, 'wt'));
    },
  },
  {
    name: 'submodule, in the parent',
    make: async ({ repo, bare }) => {
      await git(repo, 'submodule', '--quiet', 'add', `file://${bare}`, 'sub');
      await git(repo, 'commit', '-qm', 'add sub');
    },
  },
  {
    name: 'submodule, cwd in it',
    make: async ({ repo, bare }) => {
      await git(repo, 'submodule', '--quiet', 'add', `file://${bare}`, 'sub');
      await git(repo, 'commit', '-qm', 'add sub');
      return join(repo, 'sub');
    },
  },
  {
    name: 'Git LFS keys in the local config',
    config: { 'lfs.url': 'https://lfs.example.org', 'lfs.repositoryformatversion': '0' },
  },
  {
    name: 'Git LFS, install --local with its hooks',
    config: { 'filter.lfs.clean': 'cat', 'filter.lfs.smudge': 'cat', 'filter.lfs.required': 'true' },
    make: async ({ repo }) => {
      for (const name of ['pre-push', 'post-checkout', 'post-commit', 'post-merge']) await hook(repo, name);
      await writeFile(join(repo, '.gitattributes'), '*.bin filter=lfs -text\n');
      await writeFile(join(repo, 'a.bin'), 'large\n');
    },
  },
  {
    name: 'husky 9',
    config: { 'core.hooksPath': '.husky/_' },
    make: async ({ repo }) => hook(repo, 'pre-commit', '.husky/_'),
  },
  { name: 'a pre-commit hook', make: async ({ repo }) => hook(repo, 'pre-commit') },
  {
    name: 'clone of a fork with an upstream remote',
    config: { 'remote.upstream.url': 'https://example.org/up.git', 'remote.upstream.gh-resolved': 'base' },
  },
  {
    name: 'pull request of a fork, the branch names an address',
    config: { 'branch.main.remote': 'https://example.org/fork.git', 'branch.main.merge': 'refs/heads/main' },
  },
  {
    name: 'VS Code keys',
    config: { 'branch.main.vscode-merge-base': 'origin/main', 'branch.main.github-pr-owner-number': 'a#b#1' },
  },
  {
    name: 'GitHub Desktop keys',
    config: { 'remote.github-desktop-u.url': 'https://example.org/u.git', 'protocol.version': '2' },
  },
  {
    name: 'JetBrains files',
    make: async ({ repo }) => void (await mkdir(join(repo, '.idea/shelf'), { recursive: true })),
  },
  { name: 'git gui keys', config: { 'gui.wmstate': 'normal', 'gui.geometry': '1x1' } },
  {
    name: 'sparse checkout',
    make: async ({ repo }) => void (await git(repo, 'sparse-checkout', 'set', '--cone', 'd')),
  },
  { name: 'partial clone', clone: ['--filter=blob:none'] },
  { name: 'shallow clone', clone: ['--depth=1'] },
  {
    name: 'clone --reference, the other clone in the workspace',
    make: async ({ repo, bare }, place) => {
      const second = join(place.workspace, 'second');
      await git(place.workspace, 'clone', '-q', '--reference', repo, `file://${bare}`, second);
      return second;
    },
  },
  {
    name: 'signing in the local config',
    config: { 'commit.gpgSign': 'true', 'gpg.format': 'ssh', 'user.signingKey': '/nonexistent/key' },
  },
  {
    name: 'notebook filter and textconv',
    config: { 'filter.nbstripout.clean': 'cat', 'diff.ipynb.textconv': 'cat' },
    make: async ({ repo }) =>
      writeFile(join(repo, '.gitattributes'), '*.ipynb filter=nbstripout diff=ipynb\n'),
  },
  {
    name: 'actions/checkout',
    config: { 'http.https://github.com/.extraheader': 'AUTHORIZATION: basic AAAA' },
  },
  {
    name: 'actions/checkout 6, includeIf',
    make: async ({ repo }, place) => {
      await writeFile(join(place.workspace, 'creds.config'), '[http]\n\tversion = HTTP/2\n');
      await git(repo, 'config', `includeIf.gitdir:${repo}/.git.path`, join(place.workspace, 'creds.config'));
    },
  },
  {
    name: 'scalar',
    config: {
      'core.untrackedCache': 'true',
      'maintenance.strategy': 'incremental',
      'core.fsmonitor': 'true',
    },
  },
  {
    name: 'git-town keys',
    config: { 'git-town.main-branch': 'main', 'git-town-branch.topic.parent': 'main' },
  },
  {
    name: 'rebase in progress',
    commitFails: true,
    make: async ({ repo }) => {
      await git(repo, 'checkout', '-qb', 'topic');
      await commitFile(repo, 'one.txt', 'topic\n');
      await git(repo, 'checkout', '-q', 'main');
      await commitFile(repo, 'one.txt', 'main\n');
      await git(repo, 'rebase', 'main', 'topic').catch(conflict);
    },
  },
  {
    name: 'merge conflict in progress',
    commitFails: true,
    make: async ({ repo }) => {
      await git(repo, 'checkout', '-qb', 'topic');
      await commitFile(repo, 'one.txt', 'topic\n');
      await git(repo, 'checkout', '-q', 'main');
      await commitFile(repo, 'one.txt', 'main\n');
      await git(repo, 'merge', 'topic').catch(conflict);
    },
  },
  {
    name: 'a replace ref and notes',
    make: async ({ repo }) => {
      await git(repo, 'replace', 'HEAD', 'HEAD~1');
      await git(repo, 'notes', 'add', '-m', 'n');
    },
  },
  {
    name: 'a vendored bare repository in the tree',
    make: async ({ repo }) => void (await git(repo, 'init', '-q', '--bare', 'vendor/fixture.git')),
  },
  {
    name: 'a nested clone that is ignored',
    make: async ({ repo, bare }) => {
      await git(repo, 'clone', '-q', `file://${bare}`, 'emb');
      await writeFile(join(repo, '.gitignore'), 'emb/\n');
    },
  },
  {
    name: 'jj beside git',
    make: async ({ repo }) => {
      await mkdir(join(repo, '.jj/repo'), { recursive: true });
      await writeFile(join(repo, '.jj/.gitignore'), '/*\n');
    },
  },
  {
    name: 'links in .git/hooks',
    make: async ({ repo }) => {
      await hook(repo, 'shared', 'tools');
      await mkdir(join(repo, '.git/hooks'), { recursive: true });
      await symlink('../../tools/shared', join(repo, '.git/hooks/pre-commit'));
    },
  },
];

function conflict(error: { code?: unknown }): void {
  if (error.code !== 1) throw error;
}

describe('an everyday repository', { concurrency: 2, ...needs('bubblewrap', 'git') }, () => {
  for (const state of states) {
    test(state.name, async (t) => {
      const place = await makePlace(t);
      const { repo, bare, url } = await makeClone(place, ...(state.clone ?? []));
      for (const [key, value] of Object.entries(state.config ?? {})) await git(repo, 'config', key, value);
      const cwd = (await state.make?.({ repo, bare }, place)) ?? repo;
      await check(place, cwd, bare, url, state);
    });
  }

  test('SHA-256 objects', async (t) => {
    const place = await makePlace(t);
    const bare = join(place.root, 'origin.git');
    const repo = join(place.workspace, 'app');
    await git(place.root, 'init', '-q', '--bare', '--object-format=sha256', '-b', 'main', bare);
    await git(place.root, 'init', '-q', '--object-format=sha256', '-b', 'main', repo);
    await git(repo, 'remote', 'add', 'origin', `file://${bare}`);
    await commitFile(repo, 'one.txt', 'one\n');
    await git(repo, 'push', '-q', 'origin', 'main');
    await check(place, repo, bare, `file://${bare}`, { name: 'sha256' });
  });
});

async function check(place: Place, cwd: string, bare: string, url: string, state: State): Promise<void> {
  const call = guarded(executor, place, { cwd, remotes: { origin: url }, timeoutMs: 120_000 });
  const finished = async (...argv: string[]) => {
    const outcome = await call(argv);
    assert.equal(outcome.kind, 'finished', JSON.stringify(outcome));
    return outcome as Extract<typeof outcome, { kind: 'finished' }>;
  };
  await writeFile(join(cwd, 'two.txt'), 'changed\n');
  for (const argv of [['status', '--porcelain=v2', '--branch'], ['diff']]) {
    const { stdout, exitCode } = await finished(...argv);
    assert.deepEqual([stdout.trim(), exitCode], [await git(cwd, ...argv), 0], argv.join(' '));
  }
  assert.equal((await finished('add', 'two.txt')).exitCode, 0);
  const committed = await finished('commit', '-qm', 'from the guard');
  assert.equal(committed.exitCode === 0, state.commitFails !== true, committed.stderr);
  const other = join(place.root, 'other');
  await git(place.root, 'clone', '-q', bare, other);
  const there = await commitFile(other, 'other.txt', 'other\n');
  await git(other, 'push', '-q', 'origin', 'HEAD:refs/heads/theirs');
  const fetched = await finished('fetch', 'origin');
  assert.equal(fetched.exitCode, 0, fetched.stderr);
  assert.equal(await git(cwd, 'rev-parse', 'refs/remotes/origin/theirs'), there);
  assert.equal(await git(cwd, 'log', '-1', '--format=%s', 'refs/remotes/origin/theirs'), 'other.txt');
  const pushed = await finished('push', 'origin', 'HEAD:refs/heads/mine');
  assert.equal(pushed.exitCode, 0, pushed.stderr);
  assert.equal(await git(bare, 'rev-parse', 'refs/heads/mine'), await git(cwd, 'rev-parse', 'HEAD'));
  await git(bare, 'fsck', '--connectivity-only');
}
