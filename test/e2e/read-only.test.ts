/** A workspace on a read-only file system: the session starts, says so once, and nothing of it is changed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import type { Place } from './place.ts';
import { allRuntimes, readyPlace } from './session.ts';

function root(...words: readonly string[]): void {
  const [file, ...args] = words;
  const done = spawnSync(file!, args, { encoding: 'utf8' });
  assert.equal(done.status, 0, `${words.join(' ')}: ${done.stderr}`);
}

/** With the workspace mounted over itself, read-only. */
async function readOnly<T>({ workspace }: Place, work: () => Promise<T>): Promise<T> {
  root('mount', '--bind', workspace, workspace);
  try {
    root('mount', '-o', 'remount,bind,ro', workspace);
    return await work();
  } finally {
    root('umount', '--lazy', workspace);
  }
}

const kinds: Readonly<Record<string, (where: Place) => Promise<void>>> = {
  'a repository': async () => undefined,
  'a repository without a folder of hooks': ({ workspace }) =>
    rm(path.join(workspace, '.git', 'hooks'), { recursive: true, force: true }),
  'a plain folder': ({ workspace, dir }) => rename(path.join(workspace, '.git'), path.join(dir, 'gone')),
};

for (const { name: runtime, part } of allRuntimes)
  for (const [kind, make] of Object.entries(kinds))
    void test(
      `${runtime}, ${kind}: it is a warning, and the harness runs`,
      needs('root', part),
      async (t) => {
        const where = await readyPlace(t, runtime);
        await make(where);
        await mkdir(path.join(where.workspace, 'below'));
        const script =
          'cat README.md; for at in . below .git .git/hooks; do touch "$at/made" 2>/dev/null && echo "$at"; done; :';
        const words = [
          'up',
          'shell',
          '--name',
          `ro-${process.pid}`,
          '--runtime',
          runtime,
          '--',
          '-c',
          script,
        ];
        const { code, stdout, stderr } = await readOnly(where, () => where.wraptool(words));
        assert.deepEqual({ code, stdout }, { code: 0, stdout: 'hello\n' }, stderr);
        assert.match(
          stderr,
          /^warning: workspace: .*app cannot be written by user \d+ \(it lies on a read-only file system: mount that writable, or go on without changes\)$/m,
        );
      },
    );
