/** What the arguments of an allowed call cannot show: the repository's own settings, and links. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Executor } from '../../../src/executor/types.ts';
import { needs } from '../../support/real.ts';
import { git, guarded, makeClone, makePlace, newExecutor } from './support.ts';

let executor: Executor;
before(() => {
  executor = newExecutor();
});
after(() => executor.close());

void test(
  'EXEC-010: a plain status in a hostile repository runs its program nowhere but in the box',
  needs('git', 'bubblewrap'),
  async (t) => {
    const place = await makePlace(t);
    const { repo } = await makeClone(place);
    const mark = join(place.outside, 'ran');
    const canary = join(place.workspace, 'canary');
    await writeFile(canary, `#!/bin/sh\necho x >'${mark}'\n`, { mode: 0o755 });
    await git(repo, 'config', 'core.fsmonitor', canary);
    await git(repo, 'status', '--short');
    assert.ok(existsSync(mark), 'the canary does not bite');
    await rm(mark);
    const outcome = await guarded(executor, place)(['status', '--short'], { cwd: repo });
    assert.deepEqual(outcome.kind === 'finished' && [outcome.exitCode, outcome.stdout], [0, '']);
    assert.ok(!existsSync(mark));
  },
);

void test(
  'RACE-007: a path that was checked and then became a link leads nowhere',
  needs('git', 'bubblewrap'),
  async (t) => {
    const place = await makePlace(t);
    const { repo } = await makeClone(place);
    const secret = join(place.outside, 'secret.txt');
    await writeFile(secret, 'OUTSIDE\n');
    const victim = join(repo, 'a.txt');
    // The worst moment: judged as a file, a link when git opens it.
    await symlink(secret, victim);
    const call = guarded(executor, place, { cwd: repo });
    for (const argv of [
      ['add', 'a.txt'],
      ['hash-object', '-w', 'a.txt'],
      ['diff', '--no-index', '/dev/null', 'a.txt'],
      ['commit', '-F', 'a.txt', '--allow-empty'],
      ['show', ':a.txt'],
      ['checkout', 'HEAD', '--', 'one.txt'],
    ]) {
      const outcome = await call(argv);
      assert.ok(outcome.kind === 'finished', argv.join(' '));
      assert.ok(!`${outcome.stdout}${outcome.stderr}`.includes('OUTSIDE'), argv.join(' '));
    }
    assert.equal(await readFile(secret, 'utf8'), 'OUTSIDE\n');
  },
);
