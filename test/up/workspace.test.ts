import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { resolveWorkspace } from '../../src/up/workspace.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'wraptool-workspace-')));
after(() => rmSync(base, { recursive: true, force: true }));

const home = join(base, 'home');
const state = join(home, '.local/state/wraptool');
for (const dir of [
  'home/src/app/.git',
  'home/src/app/deep/er',
  'home/src/plain/sub',
  'home/src/fake/.git/x',
  'home/src/tree/in',
  'elsewhere',
  'home/.local/state/wraptool/run',
])
  mkdirSync(join(base, dir), { recursive: true });
writeFileSync(join(home, 'src/app/.git/HEAD'), 'ref: refs/heads/main\n');
writeFileSync(join(home, 'src/tree/.git'), 'gitdir: /somewhere\n');
writeFileSync(join(base, 'file'), '');
symlinkSync(join(home, 'src/app'), join(base, 'link'));
symlinkSync(join(base, 'elsewhere'), join(home, 'src/out'));
symlinkSync(home, join(base, 'home-link'));
symlinkSync('loop', join(base, 'loop'));

/** A wraptool that is a dependency of the project. */
const program = join(home, 'src/uses/node_modules/wraptool');
mkdirSync(join(program, 'src'), { recursive: true });

const { uid, gid } = { uid: process.getuid!(), gid: process.getgid!() };
const ask = (flag: string | undefined, cwd: string) =>
  resolveWorkspace({ flag, cwd, home, stateDirs: [state], programs: [program] });

const good: readonly [string, string | undefined, string, { path: string; given?: string }][] = [
  ['the top of the work tree', undefined, 'home/src/app/deep/er', { path: 'home/src/app' }],
  ['the top of a linked work tree', undefined, 'home/src/tree/in', { path: 'home/src/tree' }],
  ['cwd where there is no repository', undefined, 'home/src/plain/sub', { path: 'home/src/plain/sub' }],
  ['cwd where .git is no repository', undefined, 'home/src/fake', { path: 'home/src/fake' }],
  ['the flag, also below a repository', 'deep', 'home/src/app', { path: 'home/src/app/deep' }],
  ['the flag, through a link', '../link', 'home', { path: 'home/src/app', given: 'link' }],
  ['cwd, through a link', undefined, 'link/deep', { path: 'home/src/app', given: 'link' }],
];

for (const [name, flag, cwd, wanted] of good) {
  test(`the workspace is ${name}`, async () => {
    const path = join(base, wanted.path);
    assert.deepEqual(await ask(flag, join(base, cwd)), {
      path,
      given: join(base, wanted.given ?? wanted.path),
      uid,
      gid,
    });
  });
}

const bad: readonly [string, string, RegExp][] = [
  ['the root', '/', /folder of the system/],
  ['/usr', '/usr', /folder of the system/],
  ['/tmp', '/tmp', /folder of the system/],
  ['/proc/self', '/proc/self/task', /taken inside/],
  ['HOME', home, /your home folder: everything/],
  ['HOME through a link', join(base, 'home-link'), /your home folder: everything/],
  ['a parent of HOME', base, /your home folder '.*' lies in it/],
  ['the state folder', state, /keeps what the agent must not write/],
  ['a parent of the state folder', join(home, '.local'), /keeps what the agent must not write/],
  ['a folder in the state folder', join(state, 'run'), /keeps what the agent must not write/],
  [
    'a folder that wraptool itself is in',
    join(home, 'src/uses'),
    /could change '.*wraptool', which your host runs/,
  ],
  ['a folder of wraptool itself', join(program, 'src'), /could change '.*wraptool', which your host runs/],
  ['a file', join(base, 'file'), /not a folder/],
  ['nothing', join(base, 'none'), /does not exist/],
  ['a loop of links', join(base, 'loop'), /circles|not a folder/],
];

for (const [name, flag, message] of bad) {
  test(`${name} cannot be the workspace`, async () => {
    await assert.rejects(ask(flag, base), (error: Error & { code?: string; hint?: string }) => {
      assert.equal(error.code, 'workspace_refused');
      assert.match(error.message, message);
      assert.match(error.hint ?? '', /--workspace/);
      return true;
    });
  });
}
