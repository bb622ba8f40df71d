/**
 * A process of the workspace swaps two paths with renameat2(RENAME_EXCHANGE) while the guard runs git. Set
 * WRAPTOOL_RACE_TRIES for more tries than the 200 of an ordinary run.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { Executor } from '../../../src/executor/types.ts';
import { needs } from '../../support/real.ts';
import { git, guarded, makeClone, makePlace, newExecutor, type Place } from './support.ts';

const tries = Number(process.env['WRAPTOOL_RACE_TRIES'] ?? 200);
const secret = 'RACE-SECRET-5b1f';

// Swaps argv[1] and argv[2] at random moments until its input ends.
const swapper = `
import ctypes, random, select, sys, time
libc = ctypes.CDLL(None, use_errno=True)
a, b = sys.argv[1].encode(), sys.argv[2].encode()
print('ready', flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    libc.renameat2(-100, a, -100, b, 2)
    time.sleep(random.random() * 150e-6)
`;

let executor: Executor;
before(() => {
  executor = newExecutor();
});
after(() => executor.close());

async function swap(t: TestContext, one: string, two: string): Promise<ChildProcess> {
  const child = spawn('python3', ['-c', swapper, one, two], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.stdin!.end('x');
  await ended;
}

type Race = {
  readonly name: string;
  readonly argv: (at: number) => readonly string[];
  /** Makes the two paths. */
  readonly pair: (repo: string, place: Place) => Promise<readonly [string, string]>;
  readonly share: number;
};

const races: readonly Race[] = [
  {
    name: 'the config with a filter and the one without',
    share: 1,
    argv: () => ['status'],
    pair: async (repo, place) => {
      const [good, bad] = [join(repo, '.git/config'), join(place.workspace, 'config')];
      await cp(good, bad);
      const canary = join(place.workspace, 'canary');
      await writeFile(
        canary,
        `#!/bin/sh\necho ran >>${place.outside}/ran\ncat ${place.outside}/secret.txt\ncat\n`,
      );
      await chmod(canary, 0o755);
      await writeFile(join(repo, '.gitattributes'), '* filter=x\n');
      await writeFile(
        bad,
        `${await readFile(good, 'utf8')}[filter "x"]\n\tclean = ${canary}\n[core]\n\tfsmonitor = ${canary}\n`,
      );
      return [good, bad];
    },
  },
  {
    name: 'the log of HEAD and a link to a file outside',
    share: 0.2,
    argv: (at) => ['commit', '--allow-empty', '-qm', `m${at}`],
    pair: async (repo, place) => {
      await symlink(join(place.outside, 'victim.txt'), join(place.workspace, 'link'));
      return [join(repo, '.git/logs/HEAD'), join(place.workspace, 'link')];
    },
  },
  {
    name: 'a file and a link to a secret',
    share: 0.2,
    argv: () => ['add', '-A'],
    pair: async (repo, place) => {
      await symlink(join(place.outside, 'secret.txt'), join(place.workspace, 'link'));
      await writeFile(join(repo, 'file'), 'plain\n');
      return [join(repo, 'file'), join(place.workspace, 'link')];
    },
  },
  {
    name: 'a folder and a link to a folder outside',
    share: 0.2,
    argv: () => ['add', '-A'],
    pair: async (repo, place) => {
      await mkdir(join(repo, 'folder'));
      await writeFile(join(repo, 'folder/secret.txt'), 'plain\n');
      await symlink(place.outside, join(place.workspace, 'link'));
      return [join(repo, 'folder'), join(place.workspace, 'link')];
    },
  },
  {
    name: 'the folder of objects and a link to another repository, at a push',
    share: 0.1,
    argv: (at) => ['push', 'origin', `HEAD:refs/heads/race-${at}`],
    pair: async (repo, place) => {
      await symlink(join(place.outside, 'private/.git/objects'), join(place.workspace, 'link'));
      return [join(repo, '.git/objects'), join(place.workspace, 'link')];
    },
  },
];

describe('a race', { concurrency: 1, ...needs('bubblewrap', 'git', 'python3') }, () => {
  for (const { name, argv, pair, share } of races) {
    test(`between ${name}`, async (t) => {
      const place = await makePlace(t);
      const { repo, bare, url } = await makeClone(place);
      await writeFile(join(place.outside, 'secret.txt'), `${secret}\n`);
      await writeFile(join(place.outside, 'victim.txt'), 'victim\n');
      const priv = join(place.outside, 'private');
      await git(place.root, 'init', '-q', priv);
      await writeFile(join(priv, 'p'), `${secret}\n`);
      await git(priv, 'add', '-A');
      await git(priv, 'commit', '-qm', secret);
      const [one, two] = await pair(repo, place);
      const outsideBefore = (await readdir(place.outside)).toSorted();
      const call = guarded(executor, place, { cwd: repo, remotes: { origin: url }, timeoutMs: 60_000 });
      const child = await swap(t, one, two);
      for (let at = 0; at < Math.ceil(tries * share); at++) {
        const outcome = await call(argv(at));
        assert.equal(JSON.stringify(outcome).includes(secret), false);
      }
      await stop(child);
      assert.deepEqual((await readdir(place.outside)).toSorted(), outsideBefore);
      assert.equal(await readFile(join(place.outside, 'victim.txt'), 'utf8'), 'victim\n');
      for (const repository of [bare, join(place.state, 'private-sha1.git')]) await assertClean(repository);
      // Where the swap ended with the link in place, the repository is the other one.
      if (!(await lstat(join(repo, '.git/objects'))).isSymbolicLink()) await assertClean(repo);
    });
  }
});

async function assertClean(repository: string): Promise<void> {
  const text = await git(repository, 'cat-file', '--batch-all-objects', '--batch').catch(
    (error: { code?: unknown; stderr?: string }) => {
      // The swap may have ended with the link in place, or before there was a private repository.
      if (error.code === 'ENOENT' || error.code === 128) return '';
      throw error;
    },
  );
  assert.equal(text.includes(secret), false, repository);
}
