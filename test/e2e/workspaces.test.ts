/** Workspaces of every kind, their owners, and a terminal that hangs up. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { finish, seen, until, type Place } from './place.ts';
import { dirOf, oddSeconds, readyPlace, runtimes, withMarker } from './session.ts';
import { main } from '../support/main.ts';

function git(where: Place, cwd: string, ...args: readonly string[]): string {
  const always = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'protocol.file.allow=always'];
  const done = spawnSync('git', [...always, ...args], { cwd, env: where.env, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout;
}

/** Each makes a workspace and says how to name it; `top` is where it really is. */
const kinds: Readonly<Record<string, (where: Place) => Promise<{ top: string; named: string }>>> = {
  'a linked worktree with relative pointers': async (where) => {
    const top = path.join(where.dir, 'src', 'tree');
    git(where, where.workspace, 'worktree', 'add', '-q', top);
    await writeFile(path.join(top, '.git'), 'gitdir: ../app/.git/worktrees/tree\n');
    await writeFile(path.join(where.workspace, '.git/worktrees/tree/gitdir'), '../../../../tree/.git\n');
    return { top, named: top };
  },
  'a submodule': async (where) => {
    const lib = path.join(where.dir, 'src', 'lib');
    await mkdir(lib);
    git(where, lib, 'init', '-q');
    git(where, lib, 'commit', '-q', '--allow-empty', '-m', 'first');
    git(where, where.workspace, 'submodule', '--quiet', 'add', lib, 'sub');
    const top = path.join(where.workspace, 'sub');
    return { top, named: top };
  },
  'a path with spaces, letters of other scripts and "="': async (where) => {
    const top = path.join(where.dir, 'src', 'my Прöject=1, "x"');
    await rename(where.workspace, top);
    return { top, named: top };
  },
  'a path with a link in it': async (where) => {
    const link = path.join(where.dir, 'linked');
    await symlink(path.join(where.dir, 'src'), link);
    return { top: where.workspace, named: path.join(link, 'app') };
  },
};

for (const { name: runtime, part } of runtimes)
  for (const [kind, make] of Object.entries(kinds))
    void test(`${runtime}: git works in ${kind}`, needs(part), async (t) => {
      const where = await readyPlace(t, runtime);
      const { top, named } = await make(where);
      const script = `pwd -P; cd "$1" && pwd -P; git status --short; echo x > made; git add made && git -c user.name=a -c user.email=a@b commit -qm second; git log --format=%s
        git config --local core.hooksPath /tmp 2>/dev/null; touch "$(git rev-parse --git-common-dir)/hooks/pre-commit" 2>/dev/null; :`;
      const args = [
        'up',
        'shell',
        '--runtime',
        runtime,
        '--workspace',
        named,
        '--',
        '-c',
        script,
        'sh',
        named,
      ];
      const { code, stdout, stderr } = await where.wraptool(args, { cwd: top });
      assert.equal(stdout, `${top}\n${top}\nsecond\nfirst\n`, stderr);
      assert.equal(code, 0);
      assert.doesNotMatch(stderr, /warning/);
      assert.equal(git(where, top, 'log', '--format=%s'), 'second\nfirst\n');
      const common = path.resolve(top, git(where, top, 'rev-parse', '--git-common-dir').trim());
      assert.equal(existsSync(path.join(common, 'hooks', 'pre-commit')), false);
      // Where the repository lies outside of the workspace, its config is not the agent's.
      if (!common.startsWith(`${top}/`))
        assert.doesNotMatch(await readFile(path.join(common, 'config'), 'utf8'), /hooksPath/i);
    });

void test(
  'a host user of uid 1500: all files are theirs, and exec works for them',
  needs('bubblewrap', 'setpriv'),
  async (t) => {
    const where = await readyPlace(t, 'bubblewrap');
    assert.equal(spawnSync('chown', ['-R', '1500:1500', where.dir]).status, 0);
    await chmod(where.dir, 0o700);
    const user = ['--reuid=1500', '--regid=1500', '--clear-groups', '--'];
    const as = (args: readonly string[]) => {
      const words = Object.entries(where.env).map(([name, value]) => `${name}=${value}`);
      return ['setpriv', ...user, 'env', '-i', ...words, process.execPath, main, ...args];
    };
    const { spawn } = await import('node:child_process');
    const run = (args: readonly string[]) => {
      const [file, ...rest] = as(args);
      return spawn(file ?? '', rest, { cwd: where.workspace, stdio: 'pipe' });
    };
    const child = run([
      'up',
      'shell',
      '--name',
      'theirs',
      '--runtime',
      'bubblewrap',
      '--',
      '-c',
      'echo > made; echo > ~/kept; id -u; echo up; read line',
    ]);
    await seen(child.stdout, /1500\nup/);
    assert.deepEqual(await finish(run(['exec', 'theirs', '--', 'sh', '-c', 'echo > other; id -u']), ''), {
      code: 0,
      signal: null,
      stdout: '1500\n',
      stderr: '',
    });
    // Root is let in, too; the socket itself is theirs alone.
    const socket = await stat(path.join(dirOf(where, 'theirs'), 'control.sock'));
    assert.deepEqual({ uid: socket.uid, mode: socket.mode & 0o777 }, { uid: 1500, mode: 0o600 });
    const result = finish(child, 'go\n');
    assert.equal((await result).code, 0);
    for (const file of ['made', 'other'])
      assert.equal((await stat(path.join(where.workspace, file))).uid, 1500);
    const strange = spawnSync('find', [where.dir, '-not', '-uid', '1500'], { encoding: 'utf8' });
    assert.equal(strange.stdout, '');
  },
);

for (const { name: runtime, part } of runtimes) {
  void test(
    `${runtime}: two sessions on one workspace, each with its own gateway; the end of one is not the other's`,
    needs(part),
    async (t) => {
      const where = await readyPlace(t, runtime);
      const start = (name: string) =>
        where.start([
          'up',
          'shell',
          '--name',
          name,
          '--runtime',
          runtime,
          '--',
          '-c',
          'echo up; read line; echo "$line"',
        ]);
      const [one, two] = [start('one'), start('two')];
      await Promise.all([seen(one.stdout, /up/), seen(two.stdout, /up/)]);
      const results = [finish(one, ''), finish(two, 'still here\n')] as const;
      // `finish` ends stdin at once: the first reads nothing and ends.
      await results[0];
      const { code, stdout } = await results[1];
      assert.deepEqual({ code, stdout }, { code: 0, stdout: 'still here\n' });
    },
  );

  void test(`${runtime}: a terminal that hangs up leaves nothing`, needs(part, 'tmux'), async (t) => {
    const where = await readyPlace(t, runtime);
    const marker = oddSeconds();
    const words = Object.entries(where.env).map(([name, value]) => `${name}=${value}`);
    const harness = `trap '' HUP; echo harness-is-ready; sleep ${marker}; sleep ${marker}`;
    const command = [
      'env',
      '-i',
      ...words,
      process.execPath,
      main,
      'up',
      'shell',
      '--name',
      'hung',
      '--runtime',
      runtime,
      '--workspace',
      where.workspace,
      '--',
      '-c',
      harness,
    ];
    const terminal = new Terminal({ columns: 80, rows: 24 }, command);
    t.after(() => terminal.close());
    await terminal.shows(/harness-is-ready/, 30_000);
    assert.doesNotMatch(terminal.text(), /warning/);
    terminal.close();
    await until(
      'nothing is left',
      async () => (await withMarker(marker)).length === 0 && !existsSync(dirOf(where, 'hung')),
      20_000,
    );
  });
}
