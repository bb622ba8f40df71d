/** What fetch, push, pull and ls-remote do through the guard, and what they refuse. */
import assert from 'node:assert/strict';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { discoverRemotes } from '../../../src/executor/guards/git/discover.ts';
import type { Executor } from '../../../src/executor/types.ts';
import { needs } from '../../support/real.ts';
import { commitFile, git, guarded, makeClone, makePlace, newExecutor } from './support.ts';

let executor: Executor;
before(() => {
  executor = newExecutor();
});
after(() => executor.close());

async function scene(t: TestContext) {
  const place = await makePlace(t);
  const { repo, bare, url } = await makeClone(place);
  const call = guarded(executor, place, { cwd: repo, remotes: { origin: url }, timeoutMs: 120_000 });
  const say = async (...argv: string[]) => {
    const outcome = await call(argv);
    if (outcome.kind === 'refused')
      return { refused: outcome.detail, code: null, stdout: '', stderr: '', notes: [] as readonly string[] };
    return {
      refused: null,
      code: outcome.exitCode,
      stdout: outcome.stdout,
      stderr: outcome.stderr,
      notes: outcome.notes,
    };
  };
  const other = join(place.root, 'other');
  await git(place.root, 'clone', '-q', bare, other);
  return { place, repo, bare, url, call, say, other };
}

describe('through the guard', { concurrency: 2, ...needs('bubblewrap', 'git') }, () => {
  test('push sends the commit, says so as git does, and moves the remote-tracking branch', async (t) => {
    const { repo, bare, url, say } = await scene(t);
    const before = await git(repo, 'rev-parse', '--short=7', 'HEAD');
    const id = await commitFile(repo, 'x', 'x');
    assert.deepEqual(await say('push', 'origin', 'main'), {
      refused: null,
      code: 0,
      stdout: '',
      stderr: `To ${url}\n   ${before}..${id.slice(0, 7)}  main -> main\n`,
      notes: [],
    });
    assert.deepEqual(
      [await git(bare, 'rev-parse', 'main'), await git(repo, 'rev-parse', 'origin/main')],
      [id, id],
    );
    assert.equal((await say('push')).stderr, 'Everything up-to-date\n');
  });

  test('a branch without an upstream is not pushed by a bare push; -u sets one', async (t) => {
    const { repo, bare, say } = await scene(t);
    await git(repo, 'checkout', '-qb', 'topic');
    const bareOne = await say('push');
    assert.deepEqual(
      [bareOne.code, bareOne.stderr.split('\n')[0]],
      [128, 'fatal: The current branch topic has no upstream branch.'],
    );
    const pushed = await say('push', '-u', 'origin', 'topic');
    assert.deepEqual([pushed.code, pushed.stdout], [0, "branch 'topic' set up to track 'origin/topic'.\n"]);
    assert.equal(await git(repo, 'rev-parse', '--abbrev-ref', '@{upstream}'), 'origin/topic');
    assert.equal(await git(bare, 'rev-parse', 'topic'), await git(repo, 'rev-parse', 'topic'));
  });

  test('refspecs: HEAD, a:b, an object, a tag, deletion, force by plus', async (t) => {
    const { repo, bare, say } = await scene(t);
    await commitFile(repo, 'x', 'x');
    await git(repo, 'tag', '-a', '-m', 'v', 'v1');
    const head = await git(repo, 'rev-parse', 'HEAD');
    assert.equal(
      (await say('push', 'origin', 'HEAD:one', 'main:refs/heads/two', 'HEAD~1:refs/heads/three', 'v1')).code,
      0,
    );
    const names = (text: string) => text.split('\n').map((line) => line.split(' '));
    assert.deepEqual(
      names(
        await git(
          bare,
          'for-each-ref',
          '--format=%(refname) %(objectname)',
          'refs/heads/one',
          'refs/heads/two',
          'refs/heads/three',
          'refs/tags',
        ),
      ),
      [
        ['refs/heads/one', head],
        ['refs/heads/three', await git(repo, 'rev-parse', 'HEAD~1')],
        ['refs/heads/two', head],
        ['refs/tags/v1', await git(repo, 'rev-parse', 'v1')],
      ],
    );
    const deleted = await say('push', 'origin', ':one');
    assert.match(deleted.stderr, /^ - \[deleted\] {9}one$/m);
    assert.equal((await say('push', 'origin', '--delete', 'v1')).code, 0);
    assert.equal((await say('push', 'origin', '-d', 'nope')).code, 1);
    await git(repo, 'commit', '-q', '--amend', '-m', 'again');
    const rejected = await say('push', 'origin', 'main:two');
    assert.deepEqual(
      [rejected.code, /\[rejected\] .*main -> two \(non-fast-forward\)/.test(rejected.stderr)],
      [1, true],
    );
    assert.match(
      (await say('push', 'origin', '+main:two')).stderr,
      /^ \+ \w+\.\.\.\w+ main -> two \(forced update\)$/m,
    );
  });

  test('--force-with-lease holds when somebody else pushed', async (t) => {
    const { repo, bare, say, other } = await scene(t);
    const theirs = await commitFile(other, 'y', 'y');
    await git(other, 'push', '-q', 'origin', 'main');
    await git(repo, 'commit', '-q', '--amend', '-m', 'again');
    const held = await say('push', '--force-with-lease', 'origin', 'main');
    assert.deepEqual([held.code, /stale info/.test(held.stderr)], [1, true]);
    assert.equal(await git(bare, 'rev-parse', 'main'), theirs);
    assert.equal((await say('push', `--force-with-lease=main:${theirs}`, 'origin', 'main')).code, 0);
    assert.equal(await git(bare, 'rev-parse', 'main'), await git(repo, 'rev-parse', 'HEAD'));
  });

  test('--dry-run changes nothing, --tags sends all tags', async (t) => {
    const { repo, bare, say } = await scene(t);
    await commitFile(repo, 'x', 'x');
    const before = await git(bare, 'for-each-ref');
    assert.match((await say('push', '--dry-run', 'origin', 'HEAD')).stderr, /HEAD -> main/);
    assert.equal(await git(bare, 'for-each-ref'), before);
    await git(repo, 'tag', 'a');
    await git(repo, 'tag', 'b');
    assert.equal((await say('push', '--tags')).code, 0);
    assert.equal(await git(bare, 'tag'), 'a\nb');
  });

  test('fetch brings branches and the tags in them, prunes, and says so as git does', async (t) => {
    const { repo, url, say, other } = await scene(t);
    const old = await git(repo, 'rev-parse', '--short=7', 'HEAD');
    const id = await commitFile(other, 'y', 'y');
    await git(other, 'tag', '-a', '-m', 'r', 'r1');
    await git(other, 'push', '-q', 'origin', 'main', 'r1', 'main:gone');
    const address = url.replace(/\.git$/, '');
    assert.equal(
      (await say('fetch')).stderr,
      `From ${address}\n * [new branch]      gone       -> origin/gone\n   ${old}..${id.slice(0, 7)}  main       -> origin/main\n * [new tag]         r1         -> r1\n`,
    );
    assert.deepEqual(await say('fetch', '--all'), {
      refused: null,
      code: 0,
      stdout: 'Fetching origin\n',
      stderr: '',
      notes: [],
    });
    await git(other, 'push', '-q', 'origin', ':gone');
    assert.equal(
      (await say('fetch', '-p')).stderr,
      `From ${address}\n - [deleted]         (none)     -> origin/gone\n`,
    );
    assert.equal(await git(repo, 'rev-parse', 'r1^{}'), id);
    await git(repo, 'fsck', '--connectivity-only');
    assert.equal((await say('fetch', 'origin', 'main:copy')).code, 0);
    assert.equal(await git(repo, 'rev-parse', 'copy'), id);
    const missing = await say('fetch', 'origin', 'nope');
    assert.deepEqual([missing.code, missing.stderr], [128, "fatal: couldn't find remote ref nope\n"]);
  });

  test('pull: fast-forward, refusal to choose, rebase, merge', async (t) => {
    const { repo, say, other } = await scene(t);
    const publish = async (name: string) => {
      await commitFile(other, name, name);
      await git(other, 'push', '-q', 'origin', 'main');
      return git(other, 'rev-parse', 'HEAD');
    };
    const first = await publish('y1');
    assert.equal((await say('pull')).code, 0);
    assert.equal(await git(repo, 'rev-parse', 'HEAD'), first);
    const second = await publish('y2');
    await commitFile(repo, 'mine', 'm');
    const asked = await say('pull');
    assert.deepEqual([asked.code, /Need to specify how to reconcile/.test(asked.stderr)], [128, true]);
    assert.equal((await say('pull', '--ff-only', 'origin', 'main')).code, 128);
    assert.equal((await say('pull', '--rebase')).code, 0);
    assert.equal(await git(repo, 'rev-parse', 'HEAD~1'), second);
    await publish('y3');
    assert.equal((await say('pull', '--no-rebase', 'origin', 'main')).code, 0);
    assert.equal(
      await git(repo, 'log', '-1', '--format=%an: %s'),
      "Olga Operator: Merge remote-tracking branch 'origin/main'",
    );
  });

  test('ls-remote and remote -v tell of the pinned remote, whatever the repository says', async (t) => {
    const { repo, url, bare, say } = await scene(t);
    await git(repo, 'config', 'remote.origin.url', 'https://evil.example/x');
    assert.equal(
      (await say('ls-remote', 'origin', 'main')).stdout,
      `${await git(bare, 'rev-parse', 'main')}\trefs/heads/main\n`,
    );
    assert.equal((await say('remote', '-v')).stdout, `origin\t${url} (fetch)\norigin\t${url} (push)\n`);
    assert.equal((await say('remote', 'get-url', 'origin')).stdout, `${url}\n`);
    const pushed = await say('push', 'origin', 'main');
    assert.deepEqual(
      [pushed.code, pushed.notes],
      [0, [`'origin' is pinned to ${url}; what the repository says about it was not used`]],
    );
  });

  test('a commit has the name and address of the operator, or those of the repository', async (t) => {
    const { repo, say } = await scene(t);
    assert.equal((await say('commit', '--allow-empty', '-qm', 'a')).code, 0);
    await git(repo, 'config', 'user.email', 'work@example.org');
    assert.equal((await say('commit', '--allow-empty', '-qm', 'b')).code, 0);
    assert.equal(
      await git(repo, 'log', '-2', '--format=%an <%ae>'),
      'Olga Operator <work@example.org>\nOlga Operator <olga@example.org>',
    );
  });

  test('what was left out is said: the pre-push hook, a signature', async (t) => {
    const { repo, say } = await scene(t);
    await writeFile(join(repo, '.git/hooks/pre-push'), '#!/bin/sh\nexit 1\n');
    await chmod(join(repo, '.git/hooks/pre-push'), 0o755);
    assert.deepEqual((await say('push', 'origin', 'main')).notes, ['hooks skipped: pre-push']);
    await git(repo, 'config', 'commit.gpgSign', 'true');
    assert.deepEqual((await say('commit', '--allow-empty', '-qm', 'a')).notes, [
      'not signed: there is no key in the sandbox',
    ]);
  });

  test('a pinned remote inside the workspace is served from the box: its hooks run where they reach nothing', async (t) => {
    const { place, repo, bare, call } = await scene(t);
    const inside = join(place.workspace, 'inside.git');
    await git(place.root, 'clone', '-q', '--bare', bare, inside);
    await writeFile(
      join(inside, 'hooks/pre-receive'),
      `#!/bin/sh\necho ran >>${place.outside}/ran\necho ran >>${place.workspace}/ran\n`,
    );
    await chmod(join(inside, 'hooks/pre-receive'), 0o755);
    await symlink(inside, join(place.home, 'innocent.git'));
    const id = await commitFile(repo, 'x', 'x');
    const outcome = await call(['push', 'origin', 'main'], {
      remotes: { origin: `file://${place.home}/innocent.git` },
    });
    assert.equal(outcome.kind === 'finished' && outcome.exitCode, 0, JSON.stringify(outcome));
    assert.equal(await git(inside, 'rev-parse', 'main'), id);
    assert.equal(await readFile(join(place.workspace, 'ran'), 'utf8'), 'ran\n');
    await assert.rejects(readFile(join(place.outside, 'ran')), { code: 'ENOENT' });
  });

  test('calls on one workspace at the same time all end well', async (t) => {
    const { repo, bare, say } = await scene(t);
    await commitFile(repo, 'x', 'x');
    const codes = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => (await say('push', 'origin', `main:${name}`)).code),
    );
    assert.deepEqual(codes, [0, 0, 0, 0]);
    assert.equal((await git(bare, 'branch', '--format=%(refname:short)')).split('\n').length, 5);
  });

  test('a repository that lies outside the workspace is not there', async (t) => {
    const { place, call } = await scene(t);
    await writeFile(join(place.workspace, '.git'), `gitdir: ${place.root}/other/.git\n`);
    for (const argv of [['status'], ['push', 'origin', 'main']]) {
      const outcome = await call(argv, { cwd: place.workspace });
      assert.equal(outcome.kind === 'finished' && outcome.exitCode, 128, JSON.stringify(outcome));
    }
  });

  test('nothing is left in the state folder but the private repository and who commits', async (t) => {
    const { place, repo, say } = await scene(t);
    await commitFile(repo, 'x', 'x');
    await say('push', 'origin', 'main');
    await say('status');
    const { readdir } = await import('node:fs/promises');
    assert.deepEqual((await readdir(place.state)).toSorted(), ['exchange', 'private-sha1.git']);
    assert.equal(await git(join(place.state, 'private-sha1.git'), 'for-each-ref', 'refs/from-workspace'), '');
  });

  test('discovery proposes what the repository names, but no command, no folder, no option', async (t) => {
    const { repo } = await scene(t);
    await git(repo, 'config', 'remote.origin.url', 'https://git.example.org/acme/app.git');
    await git(repo, 'config', 'remote.fork.url', 'git@git.example.org:me/app.git');
    await git(repo, 'config', 'remote.ssh.url', 'ssh://git@git.example.org:2222/acme/app.git');
    await git(repo, 'config', 'remote.cmd.url', 'ext::sh -c id');
    await git(repo, 'config', 'remote.dir.url', '/etc');
    await git(repo, 'config', 'remote.file.url', 'file:///etc');
    await git(repo, 'config', 'remote.opt.url', 'ssh://-oProxyCommand=id/x');
    await git(repo, 'config', 'remote.opt2.url', '-oProxyCommand=id:x');
    assert.deepEqual(await discoverRemotes(repo), {
      origin: 'https://git.example.org/acme/app.git',
      fork: 'git@git.example.org:me/app.git',
      ssh: 'ssh://git@git.example.org:2222/acme/app.git',
    });
  });
});

const refused: [argv: string, why: RegExp][] = [
  ['clone https://git.example.org/x', /'git clone' needs a remote that is not pinned/],
  ['st', /'git st' is not a command that the guard knows/],
  ['daemon --export-all', /'git daemon'/],
  ['upload-pack .', /'git upload-pack'/],
  ['--git-dir=/etc status', /'git --git-dir=\/etc' could take git out/],
  ['--exec-path=/tmp status', /--exec-path/],
  ['-c core.sshCommand=x fetch', /'git -c' is not taken with 'fetch'/],
  ['-C sub push', /'git -C' is not taken with 'push'/],
  ['push --mirror', /'git push --mirror'/],
  ['push --prune origin', /'git push --prune'/],
  ['push -o x origin main', /'git push -o'/],
  ['push --push-option=x origin main', /'git push --push-option'/],
  ['push --exec=/bin/sh origin main', /'git push --exec'/],
  ['push --receive-pack=/bin/sh origin main', /'git push --receive-pack'/],
  ['push --signed origin main', /'git push --signed'/],
  ['push --recurse-submodules=on-demand origin', /'git push --recurse-submodules'/],
  ['push --rec=x origin', /'git push --rec'/],
  ['push origin refs/heads/*:refs/heads/*', /has a wildcard/],
  ['push origin :', /pushes every matching branch/],
  ['push origin ^main', /is negative/],
  ['push origin main:a..b', /is not the name of a branch or tag/],
  [
    'push https://evil.example/x main',
    /'https:\/\/evil.example\/x' is not a pinned remote; pinned: 'origin'/,
  ],
  ['push upstream main', /'upstream' is not a pinned remote/],
  ['push ext::sh main', /is not a pinned remote/],
  ['fetch --upload-pack=/bin/sh origin', /'git fetch --upload-pack'/],
  ['fetch --depth=1', /'git fetch --depth/],
  ['fetch --recurse-submodules', /'git fetch --recurse-submodules'/],
  ['fetch --refmap=x origin', /'git fetch --refmap/],
  ['fetch origin +refs/heads/*:refs/x/*', /has a wildcard/],
  ['pull --upload-pack x', /'git pull --upload-pack'/],
  ['pull origin a b', /several branches at once/],
  ['ls-remote --upload-pack=x origin', /'git ls-remote --upload-pack'/],
  ['ls-remote -o x origin', /'git ls-remote -o'/],
  ['ls-remote /etc', /is not a pinned remote/],
  ['remote update', /'git remote update' talks to the remote/],
  ['remote show origin', /talks to the remote/],
];

describe('refused by name', needs('bubblewrap', 'git'), () => {
  for (const [line, why] of refused) {
    test(`git ${line}`, async (t) => {
      const place = await makePlace(t);
      const outcome = await guarded(executor, place, {
        remotes: { origin: 'https://git.example.org/acme/app.git' },
      })(line.split(' '));
      assert.equal(outcome.kind, 'refused');
      assert.match((outcome as { detail: string }).detail, why);
    });
  }
});
