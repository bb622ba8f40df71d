/** A workspace that is a linked worktree: its repository lies outside, and the session shares what git needs of it. */
import assert from 'node:assert/strict';
import { rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { discoverRemotes } from '../../../src/executor/guards/git/discover.ts';
import type { Executor } from '../../../src/executor/types.ts';
import { repositoryBeyond } from '../../../src/up/runtime/mounts.ts';
import { needs } from '../../support/real.ts';
import { git, guarded, makeClone, makePlace, newExecutor } from './support.ts';

let executor: Executor;
before(() => {
  executor = newExecutor();
});
after(() => executor.close());

async function scene(t: TestContext, ...flags: readonly string[]) {
  const place = await makePlace(t);
  const { repo, bare, url } = await makeClone(place);
  const tree = join(place.root, 'tree');
  await git(repo, ...flags, 'worktree', 'add', '-q', '-b', 'side', tree);
  const { uid, gid } = await stat(tree);
  const shared = await repositoryBeyond({ path: tree, uid, gid });
  const call = guarded(executor, place, {
    workspace: tree,
    cwd: tree,
    shared,
    remotes: { origin: url },
    timeoutMs: 60_000,
  });
  return { place, repo, bare, url, tree, shared, call };
}

describe('a linked worktree', { concurrency: 2, ...needs('bubblewrap', 'git') }, () => {
  test('status, add, commit, log, branch and stash work in it', async (t) => {
    const { repo, tree, call } = await scene(t);
    await writeFile(join(tree, 'new'), 'x\n');
    for (const argv of [
      ['status', '--short'],
      ['add', 'new'],
      ['commit', '-qm', 'from the worktree'],
      ['log', '-1', '--format=%s'],
      ['branch', 'more'],
    ]) {
      const outcome = await call(argv);
      assert.ok(outcome.kind === 'finished' && outcome.exitCode === 0, JSON.stringify(outcome));
    }
    assert.equal(await git(repo, 'log', '-1', '--format=%s', 'side'), 'from the worktree');
    assert.equal(await git(repo, 'rev-parse', 'more'), await git(repo, 'rev-parse', 'side'));
  });

  test('fetch and push work from it', async (t) => {
    const { bare, call, repo } = await scene(t);
    const pushed = await call(['push', 'origin', 'side']);
    assert.ok(pushed.kind === 'finished' && pushed.exitCode === 0, JSON.stringify(pushed));
    assert.equal(await git(bare, 'rev-parse', 'side'), await git(repo, 'rev-parse', 'side'));
    const fetched = await call(['fetch', 'origin']);
    assert.ok(fetched.kind === 'finished' && fetched.exitCode === 0, JSON.stringify(fetched));
  });

  test('the remotes of its repository are proposed', async (t) => {
    const { repo, tree, shared } = await scene(t);
    await git(repo, 'remote', 'set-url', 'origin', 'https://git.example.org/acme/app.git');
    assert.deepEqual(await discoverRemotes(tree, shared), { origin: 'https://git.example.org/acme/app.git' });
    assert.deepEqual(await discoverRemotes(tree), {});
  });

  test('the repository’s config and hooks cannot be written', async (t) => {
    const { call } = await scene(t);
    const outcome = await call(['branch', '--set-upstream-to', 'origin/main']);
    assert.ok(outcome.kind === 'finished' && outcome.exitCode !== 0, JSON.stringify(outcome));
  });

  test('a folder of it that another session put another in the place of is refused', async (t) => {
    const { repo, call, place } = await scene(t);
    const objects = join(repo, '.git/objects');
    await rename(objects, join(place.root, 'aside'));
    await symlink(join(place.root, 'aside'), objects);
    const outcome = await call(['status']);
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.detail, /\/objects' is not the folder that this session shared when it began/);
  });
});
