/** The checks inside the runtime before the harness starts: what is a fault keeps it from starting, what is a warning is said. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { gitConfig, type Place, type Result } from './place.ts';
import { live, readyPlace, runtimes } from './session.ts';

const ran = 'harness-ran';

function up(where: Place, runtime: string, ...more: readonly string[]): Promise<Result> {
  return where.wraptool(['up', 'shell', '--runtime', runtime, ...more, '--', '-c', `echo ${ran}`]);
}

/** An image on top of the tests' own, removed with the test. */
function image(t: TestContext, ...lines: readonly string[]): string {
  ensureTestImage();
  const name = `wraptool-test-preflight-${process.pid}-${Date.now()}`;
  const made = spawnSync('docker', ['build', '-q', '-t', name, '-'], {
    input: [`FROM ${testImage}`, ...lines, ''].join('\n'),
    encoding: 'utf8',
  });
  assert.equal(made.status, 0, made.stderr);
  t.after(() => spawnSync('docker', ['rmi', '-f', name]));
  return name;
}

/** A folder of user 1500 that is not a repository. */
async function foreignFolder(where: Place, mode: number): Promise<string> {
  const plain = path.join(where.dir, 'src', 'plain');
  await mkdir(plain);
  await chown(plain, 1500, 1500);
  await chmod(plain, mode);
  await chmod(where.dir, 0o755);
  return plain;
}

for (const { name: runtime, part } of runtimes) {
  void test(
    `${runtime}: where all is well nothing is said; a lost repository and a key in the HOME are warnings`,
    needs(part),
    async (t) => {
      const where = await readyPlace(t, runtime);
      const tree = path.join(where.dir, 'src', 'tree');
      const made = spawnSync('git', ['worktree', 'add', '-q', tree], {
        cwd: where.workspace,
        env: where.env,
      });
      assert.equal(made.status, 0, String(made.stderr));
      const session = await live(t, runtime, { where, workspace: tree, env: { TZ: 'UTC' } });
      const { stdout } = await where.wraptool(['inspect', 'life', '--json']);
      assert.deepEqual((JSON.parse(stdout) as { preflight: unknown }).preflight, []);
      const keys = 'mkdir -p ~/.ssh && touch ~/.ssh/id_ed25519 ~/.ssh/id_ed25519.pub ~/.ssh/known_hosts';
      assert.equal((await where.wraptool(['exec', 'life', '--', 'sh', '-c', keys])).code, 0);
      const good = await session.end();
      assert.doesNotMatch(good.stderr, /warning/);
      assert.match(good.stderr, /checks inside: done/);

      await writeFile(path.join(tree, '.git'), 'gitdir: /nowhere/.git/worktree/tree\n');
      const bad = await up(where, runtime, '--workspace', tree);
      assert.deepEqual({ code: bad.code, stdout: bad.stdout }, { code: 0, stdout: `${ran}\n` });
      const warnings = bad.stderr.split('\n').filter((line) => line.startsWith('warning'));
      assert.match(warnings[0] ?? '', /git: git does not take .*tree for a repository: .*worktree repair/);
      assert.match(
        warnings[1] ?? '',
        /credentials: the harness HOME holds \/home\/agent\/\.ssh\/id_ed25519 \(/,
      );
      assert.equal(warnings.length, 2, bad.stderr);
    },
  );

  void test(
    `${runtime}: a workspace that cannot be written is a warning with its mend`,
    needs(part, 'root'),
    async (t) => {
      const where = await readyPlace(t, runtime);
      const plain = await foreignFolder(where, 0o555);
      const { code, stdout, stderr } = await up(where, runtime, '--workspace', plain);
      assert.deepEqual({ code, stdout }, { code: 0, stdout: `${ran}\n` });
      assert.match(stderr, /^warning: workspace: .*plain cannot be written by user 1500 \(.*chmod u\+w/m);
    },
  );

  void test(
    `${runtime}: a workspace that cannot be read is a fault, and the harness does not start`,
    needs(part, 'root'),
    async (t) => {
      const where = await readyPlace(t, runtime);
      const plain = await foreignFolder(where, 0o311);
      const { code, stdout, stderr } = await up(where, runtime, '--json', '--workspace', plain);
      assert.equal(code, 125);
      const { error } = JSON.parse(stdout) as { error: { code: string; problems: string[] } };
      assert.equal(error.code, 'preflight_failed');
      assert.match(error.problems.join('\n'), /^workspace: .*plain cannot be read by user 1500 .*chmod/);
      const events = stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { step?: string; state?: string });
      assert.deepEqual(
        events
          .filter(({ step, state }) => step === 'checks inside' && state !== 'progress')
          .map(({ state }) => state),
        ['started', 'failed'],
      );
    },
  );
}

const inImage = [
  {
    what: 'a token in the image’s environment is a fault',
    lines: ['ENV GITHUB_TOKEN=ghp_x'],
    code: 125,
    said: [
      /^error: the harness was not started/m,
      /^ {2}credentials: the variable GITHUB_TOKEN is set inside.*up\.harness_env/m,
    ],
  },
  {
    what: 'what looks like a secret, and another locale, are warnings',
    lines: ['ENV ACME_API_KEY=x LC_ALL=POSIX'],
    code: 0,
    said: [
      /^warning: credentials: the variable ACME_API_KEY/m,
      /^warning: locale: the locale is POSIX.*C\.UTF-8/m,
    ],
  },
] as const;

for (const { what, lines, code: expected, said } of inImage)
  void test(`devcontainer: ${what}`, needs('docker'), async (t) => {
    const where = await readyPlace(t, 'devcontainer');
    await where.writeConfig(`${gitConfig}up: { base_image: '${image(t, ...lines)}', network: none }\n`);
    const { code, stdout, stderr } = await up(where, 'devcontainer');
    assert.equal(code, expected, stderr);
    assert.equal(stdout, expected === 0 ? `${ran}\n` : '');
    for (const pattern of said) assert.match(stderr, pattern);
  });

void test('a token that the operator named is no finding', needs('bubblewrap'), async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  await where.writeConfig(`${gitConfig}up: { harness_env: [GH_TOKEN], network: none }\n`);
  const { code, stderr } = await where.wraptool(
    ['up', 'shell', '--runtime', 'bubblewrap', '--', '-c', 'test "$GH_TOKEN" = named'],
    {
      env: { GH_TOKEN: 'named' },
    },
  );
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /warning/);
});

void test('an image without data of time zones is a warning, but for UTC', needs('docker'), async (t) => {
  const where = await readyPlace(t, 'devcontainer');
  const bare = image(t, 'RUN rm -rf /usr/share/zoneinfo');
  await where.writeConfig(`${gitConfig}up: { base_image: '${bare}', network: none }\n`);
  for (const [TZ, expected] of [
    ['Antarctica/Troll', true],
    ['UTC', false],
  ] as const) {
    const args = ['up', 'shell', '--runtime', 'devcontainer', '--', '-c', 'echo "$TZ"'];
    const { stdout, stderr } = await where.wraptool(args, { env: { TZ } });
    assert.equal(stdout, `${TZ}\n`, stderr);
    assert.equal(
      /^warning: clock: programs inside do not know the zone Antarctica\/Troll .*tzdata/m.test(stderr),
      expected,
      stderr,
    );
  }
});

void test('what the checks found is in the session’s events', needs('bubblewrap'), async (t) => {
  const { dir } = await live(t, 'bubblewrap');
  const lines = (await readFile(path.join(dir, 'events.jsonl'), 'utf8')).trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { what: string });
  assert.deepEqual(
    events.map(({ what }) => what),
    ['session', 'gateway', 'preflight', 'harness'],
  );
});
