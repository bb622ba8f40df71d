/** Programs of the host are the host's: nothing that an agent may have put there is found. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { after } from 'node:test';
import { findOnPath, trustedPath } from '../../../src/up/runtime/find-program.ts';

const dir = realpathSync(mkdtempSync(path.join(tmpdir(), 'wraptool-find-')));
after(() => rmSync(dir, { recursive: true, force: true }));
const workspace = path.join(dir, 'ws');
const theirs = path.join(workspace, 'node_modules/.bin');
const [mine, linked] = [path.join(dir, 'bin'), path.join(dir, 'linked')];
for (const folder of [theirs, mine]) mkdirSync(folder, { recursive: true });
for (const folder of [theirs, mine]) writeFileSync(path.join(folder, 'tool'), '', { mode: 0o755 });
writeFileSync(path.join(mine, 'plain'), '', { mode: 0o644 });
symlinkSync(theirs, linked);
symlinkSync(path.join(theirs, 'tool'), path.join(mine, 'points-there'));
symlinkSync('loop', path.join(mine, 'loop'));

const cases: readonly [string, string, string, string | null][] = [
  ['the first that is there', 'tool', `${dir}/no:${mine}`, `${mine}/tool`],
  ['not the workspace’s, though it is first', 'tool', `${theirs}:${mine}`, `${mine}/tool`],
  ['not the workspace’s by another spelling', 'tool', `${workspace}/x/../node_modules/.bin`, null],
  ['not through a folder that is a link to it', 'tool', linked, null],
  ['not a link to the workspace’s', 'points-there', mine, null],
  ['not by a relative folder', 'tool', '.:bin::', null],
  ['not what cannot be run', 'plain', mine, null],
  ['not a link that leads nowhere', 'loop', mine, null],
];
for (const [what, name, search, expected] of cases)
  test(`a program is found: ${what}`, async () => {
    assert.equal(await findOnPath(name, search, [workspace]), expected);
  });

test('without a PATH there is nothing', async () => {
  assert.equal(await findOnPath('sh', undefined, []), null);
  assert.equal(await trustedPath(undefined, []), '');
});

test('a PATH for others keeps the order and leaves out relative folders and the workspace’s', async () => {
  const search = ['', '.', 'bin', theirs, '/usr/bin', linked, mine, workspace, `${workspace}-beside`].join(
    ':',
  );
  assert.equal(await trustedPath(search, [workspace]), `/usr/bin:${mine}:${workspace}-beside`);
});
