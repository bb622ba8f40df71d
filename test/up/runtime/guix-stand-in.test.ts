/** The stand-in for guix behaves as guix was measured to: what holds with it would hold with the real one. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { standIn } from '../../support/guix.ts';
import { needs } from '../../support/real.ts';
import { until } from '../../support/until.ts';

const { homedir: home } = userInfo();

describe('the stand-in for guix', { timeout: 60_000, ...needs('python3', 'guix') }, () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'wraptool-guix-'));
    mkdirSync(join(dir, 'ws'));
    writeFileSync(join(dir, 'ws', 'file'), 'x');
    writeFileSync(join(dir, 'without-tini.scm'), '(specifications->manifest (list "bash"))');
  });
  after(() => rmSync(dir, { recursive: true }));

  const env = { PATH: '/usr/bin:/bin', HOME: home, TERM: 'xterm', FOO: 'foo', FOO_BAR: 'bar' };
  const run = (words: readonly string[]): { code: number | null; out: string; err: string } => {
    const done = spawnSync(standIn, ['shell', ...words.map((word) => word.replaceAll('DIR', dir))], {
      cwd: join(dir, 'ws'),
      encoding: 'utf8',
      env,
    });
    return { code: done.status, out: done.stdout, err: done.stderr };
  };

  for (const [name, words, code, err] of [
    [
      'an unknown option',
      ['-C', '--no-such-option'],
      1,
      /^guix shell: error: no-such-option: unrecognized option\n$/,
    ],
    [
      'an unknown package',
      ['-C', 'nosuchpkg', '--', 'true'],
      1,
      /^guix shell: error: nosuchpkg: unknown package\n$/,
    ],
    ['a version that is not there', ['-C', 'node@99'], 1, /node: package not found for version 99\n$/],
    ['a bad expression', ['-C', '-E', '*(', '--', 'true'], 1, /'\*\(' is not a valid regular expression/],
    [
      'a missing source',
      ['-C', '--share=/nope', '--', 'true'],
      1,
      /^could not mount partition \/nope: ~A: ~A\nguix shell: error: statfs: \/nope: No such file or directory\n$/,
    ],
    ['a source with "="', ['-C', '--share=DIR/a=b', '--', 'true'], 1, /statfs: .*\/a: No such file/],
    [
      'a file where a folder is',
      ['-C', '--share=DIR/ws/file=DIR/ws', '--', 'true'],
      1,
      /^guix shell: error: mount: mount ".*\/ws\/file" on ".*guix-directory\.\w+\/\/?.*\/ws": Not a directory\n$/,
    ],
    ['--emulate-fhs without a container', ['-F', '--', 'true'], 1, /'--emulate-fhs' cannot be used/],
    [
      'a profile with packages',
      ['-C', '-p', '/x', 'bash'],
      1,
      /'--profile' cannot be used with package options/,
    ],
    [
      'a program that is not there',
      ['-C', '--', 'no-such-program'],
      127,
      /^guix shell: error: no-such-program: command not found\n$/,
    ],
    [
      'a program without its loader',
      ['-C', `--expose=${process.execPath}`, '--', process.execPath],
      127,
      /command not found\n$/,
    ],
    [
      'tini that the manifest does not name',
      ['-C', '-F', '-m', 'DIR/without-tini.scm', '--', 'tini', '--', 'true'],
      127,
      /tini: command not found/,
    ],
  ] as const)
    test(`refuses ${name}`, () => {
      const done = run(words);
      assert.equal(done.code, code);
      assert.match(done.err, err);
    });

  for (const [name, words, out] of [
    [
      'the command is PID 1, in the current folder',
      ['-C', '--', 'sh', '-c', 'echo $$; pwd'],
      'DIR: 1\nDIR/ws\n',
    ],
    [
      '--no-cwd: in the user’s home, which is empty',
      ['-C', '--no-cwd', '--', 'sh', '-c', 'pwd; echo *; [ -e DIR ] || echo none'],
      `${home}\n*\nnone\n`,
    ],
    [
      'an expression is not anchored, and TERM does not survive',
      ['-C', '-E', 'FOO', '--', 'sh', '-c', 'echo $FOO $FOO_BAR ${TERM-none}'],
      'foo bar none\n',
    ],
    [
      'an anchored one is exact',
      ['-C', '-E', '^FOO$', '--', 'sh', '-c', 'echo $FOO ${FOO_BAR-none}'],
      'foo none\n',
    ],
    [
      'the root is read-only, the shared folder is not, and the later mount wins',
      [
        '-C',
        '--share=DIR/ws=/a',
        '--expose=DIR/ws=/a/sub',
        '--',
        'sh',
        '-c',
        'echo x >/new; echo x >/a/made && echo wrote; echo x >/a/sub/made || echo kept',
      ],
      'wrote\nkept\n',
    ],
    ['without FHS there is no /usr', ['-C', '--', 'sh', '-c', '[ -e /usr ] || echo none'], 'none\n'],
    [
      'a second namespace locks the mounts',
      ['-C', '-F', '--', 'sh', '-c', 'unshare -Urm umount /tmp 2>/dev/null || echo locked'],
      'locked\n',
    ],
  ] as const)
    test(name, () => {
      const expected = out.replace('DIR: ', '').replaceAll('DIR', dir);
      assert.equal(run(words).out, expected);
    });

  test('a share over the home hides a folder below it that came before', () => {
    const below = mkdtempSync(join(home, '.wraptool-test-'));
    try {
      const words = ['shell', '-C', `--share=${join(dir, 'ws')}=${home}`, '--', 'true'];
      const hidden = spawnSync(standIn, words, { cwd: below, encoding: 'utf8', env });
      assert.deepEqual(
        [hidden.status, hidden.stderr],
        [1, 'guix shell: error: chdir: No such file or directory\n'],
      );
    } finally {
      rmSync(below, { recursive: true });
    }
  });

  for (const code of [0, 1, 42, 126, 130, 255])
    test(`exit code ${code} passes`, () =>
      assert.equal(run(['-C', '--', 'sh', '-c', `exit ${code}`]).code, code));

  describe('PID 1', () => {
    const start = async (command: readonly string[]): Promise<{ child: ChildProcess; mark: string }> => {
      const mark = `mark${randomBytes(6).toString('hex')}`;
      const words = [
        'shell',
        '-C',
        '-F',
        'bash',
        'tini',
        '--',
        ...command.map((word) => word.replace('MARK', mark)),
      ];
      const child = spawn(standIn, words, {
        cwd: join(dir, 'ws'),
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      assert.match(String(await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])), /ready/);
      return { child, mark };
    };
    const left = (mark: string): number[] =>
      readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 0 && commandLine(pid).includes(mark));
    const loop = 'echo ready; while :; do sleep 0.1; done; : MARK';

    test('without an init it ignores SIGTERM, and outlives guix’s hang-up and death', async () => {
      for (const name of ['SIGHUP', 'SIGKILL'] as const) {
        const { child, mark } = await start(['bash', '-c', loop]);
        child.kill('SIGTERM');
        child.kill(name);
        await once(child, 'exit');
        assert.notDeepEqual(left(mark), [], `${name} left nothing`);
        for (const pid of left(mark)) process.kill(pid, 'SIGKILL');
        await until('it is gone', () => left(mark).length === 0);
      }
    });

    for (const [name, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const)
      test(`with tini ${name} is passed on, exit code ${code}`, async () => {
        const { child } = await start([
          'tini',
          '-p',
          'SIGKILL',
          '--',
          'bash',
          '-c',
          'echo ready; exec sleep 1000',
        ]);
        child.kill(name);
        assert.deepEqual(await once(child, 'exit'), [code, null]);
      });

    for (const name of ['SIGHUP', 'SIGKILL'] as const)
      test(`with "tini -p SIGKILL" nothing outlives ${name} of guix`, async () => {
        const { child, mark } = await start(['tini', '-p', 'SIGKILL', '--', 'bash', '-c', loop]);
        child.kill(name);
        await until('nothing is left', () => left(mark).length === 0);
      });

    test('its death is guix’s exit code 137', async () => {
      const { child } = await start(['bash', '-c', loop]);
      const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
      process.kill(Number(first), 'SIGKILL');
      assert.deepEqual(await once(child, 'exit'), [137, null]);
    });
  });
});

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
