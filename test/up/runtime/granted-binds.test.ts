/** What an approved definition mounts of the workspace is what is there, whatever was changed after the look at it. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { workspaceBinds } from '../../../src/up/runtime/granted-binds.ts';

async function ground(t: TestContext): Promise<{ dir: string; workspace: string }> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'wraptool-binds-')));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const workspace = path.join(dir, 'w');
  await mkdir(path.join(workspace, 'a', 'b'), { recursive: true });
  await mkdir(path.join(dir, 'outside'));
  return { dir, workspace };
}

test('a folder and a file of the workspace, by what they are', async (t) => {
  const { workspace } = await ground(t);
  await writeFile(path.join(workspace, 'f'), '');
  const found = await workspaceBinds(
    ['a/b', 'f'].map((name) => ({ source: path.join(workspace, name), target: `/t/${name}` })),
    workspace,
  );
  const stats = await Promise.all(['a/b', 'f'].map((name) => stat(path.join(workspace, name))));
  assert.deepEqual(
    found,
    ['a/b', 'f'].map((name, at) => ({
      path: `/t/${name}`,
      dev: String(stats[at]?.dev),
      ino: String(stats[at]?.ino),
    })),
  );
});

test('other places of the host were approved by name', async (t) => {
  const { dir, workspace } = await ground(t);
  assert.deepEqual(
    await workspaceBinds(
      [
        { source: path.join(dir, 'outside'), target: '/o' },
        { source: 'v', target: '/v' },
      ],
      workspace,
    ),
    [],
  );
});

for (const [what, change] of [
  ['a link in its place', (w: string) => symlink('../../outside', path.join(w, 'a', 'b'))],
  ['nothing in its place', () => undefined],
  [
    'a link in the place of its parent',
    async (w: string) => {
      await rm(path.join(w, 'a'), { recursive: true });
      await mkdir(path.join(w, '..', 'outside', 'b'));
      await symlink('../outside', path.join(w, 'a'));
    },
  ],
] as const)
  for (const spelling of ['w', 'link-to-w'])
    test(`${what}, the workspace spelled ${spelling}: refused`, async (t) => {
      const { dir, workspace } = await ground(t);
      await symlink('w', path.join(dir, 'link-to-w'));
      await rm(path.join(workspace, 'a', 'b'), { recursive: true });
      await change(workspace);
      const binds = [{ source: path.join(dir, spelling, 'a', 'b'), target: '/b' }];
      await assert.rejects(workspaceBinds(binds, workspace), {
        code: 'runtime_failed',
        message: /was changed/,
      });
    });
