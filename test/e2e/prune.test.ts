/** prune: what it takes away, what it says of it, and what it leaves alone. Here alone, for it sees all of the engine's images. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { imagesOf, definition, rig, type Rig } from './own-rig.ts';
import { until, type Place } from './place.ts';
import { live, readyPlace } from './session.ts';

type State = { readonly gateway: { readonly pid: number } };
type Pruned = { readonly what: string; readonly removed: boolean; readonly bytes: number | null };

void test(
  'prune --dry-run says what it would do and does nothing; prune does it',
  needs('bubblewrap'),
  async (t) => {
    const where = await readyPlace(t, 'bubblewrap');
    const { child, dir } = await live(t, 'bubblewrap', { where });
    const { gateway } = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as State;
    process.kill(gateway.pid, 'SIGKILL');
    child.kill('SIGKILL');
    await until('the supervisor is gone', async () => child.exitCode !== null || child.signalCode !== null);
    const current = path.join(where.home, '.cache/wraptool/harnesses/claude');
    for (const version of ['1.0.0', '1.0.1'])
      await mkdir(path.join(current, version, 'tree'), { recursive: true });
    const lost = path.join(where.dir, 'src', 'lost');
    await mkdir(lost);
    await where.wraptool([
      'up',
      'shell',
      '--runtime',
      'bubblewrap',
      '--workspace',
      lost,
      '--',
      '-c',
      'echo x > ~/login',
    ]);
    const homes = path.join(where.home, '.local/state/wraptool/homes/shell');
    const isThere = () => ({
      session: existsSync(dir),
      installed: existsSync(path.join(current, '1.0.0')),
    });
    // `up` itself reclaims what dead sessions left.
    assert.deepEqual(isThere(), { session: false, installed: true });
    await rm(lost, { recursive: true });
    const asked = ['prune', '--harnesses', '--homes', '--json'];
    const dry = JSON.parse((await where.wraptool([...asked, '--dry-run'])).stdout) as {
      pruned: { what: string; removed: boolean }[];
    };
    const own = dry.pruned.filter(({ what }) => what.includes(where.home));
    assert.deepEqual(
      own.map(({ removed }) => removed),
      [false, false, false],
    );
    assert.match(
      own.map(({ what }) => what).join('\n'),
      /claude 1\.0\.0 .*\nclaude 1\.0\.1 .*\nhome of shell for .*lost, which is gone/,
    );
    assert.deepEqual(isThere(), { session: false, installed: true });
    // Without being asked, neither installations nor homes go.
    const plain = JSON.parse((await where.wraptool(['prune', '--dry-run', '--json'])).stdout) as {
      pruned: { what: string }[];
    };
    assert.deepEqual(
      plain.pruned.filter(({ what }) => what.includes(where.home)),
      [],
    );
    assert.equal((await where.wraptool(['prune', '--harnesses', '--homes', '--json'])).code, 0);
    assert.deepEqual(isThere(), { session: false, installed: false });
    assert.equal(spawnSync('ls', [homes], { encoding: 'utf8' }).stdout.trim().split('\n').length, 1);
  },
);

void test('prune reclaims a dead session, after saying so', needs('bubblewrap'), async (t) => {
  const { where, child, dir } = await live(t, 'bubblewrap');
  const { gateway } = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as State;
  process.kill(gateway.pid, 'SIGKILL');
  child.kill('SIGKILL');
  await until('the supervisor is gone', async () => child.exitCode !== null || child.signalCode !== null);
  assert.match(
    (await where.wraptool(['prune', '--dry-run'])).stdout,
    /^would remove: what is left of the session "life"/m,
  );
  assert.ok(existsSync(dir));
  assert.match((await where.wraptool(['prune'])).stdout, /^removed: reclaimed "life"/m);
  assert.equal(existsSync(dir), false);
});

void test(
  'an image of ours on a base that is another one by now is pruned, the current one is kept',
  needs('docker'),
  async (t) => {
    const where = await readyPlace(t, 'devcontainer');
    const base = `wraptool-test-prune-${process.pid}`;
    const docker = (args: readonly string[], input = '') => {
      const done = spawnSync('docker', args, { input, encoding: 'utf8' });
      assert.equal(done.status, 0, done.stderr);
      return done.stdout.trim();
    };
    const make = (label: string) =>
      docker(['build', '-q', '-t', base, '-'], `FROM wraptool-test-base\nLABEL x=${label}\n`);
    t.after(() => spawnSync('docker', ['rmi', '-f', base]));
    await where.writeConfig(`version: 1\nup: { base_image: ${base}, network: none }\n`);
    const mine = () => {
      const listed = docker([
        'images',
        '--filter',
        `label=wraptool.base=${base}`,
        '--format',
        '{{.Repository}}:{{.Tag}}',
      ]);
      return listed === '' ? [] : listed.split('\n');
    };
    make('1');
    await where.wraptool(['up', 'shell', '--runtime', 'devcontainer', '--', '-c', ':']);
    const [first] = mine();
    assert.ok(first !== undefined);
    const would = async () => (await where.wraptool(['prune', '--dry-run'])).stdout;
    assert.doesNotMatch(await would(), new RegExp(first));
    make('2');
    await where.wraptool(['up', 'shell', '--runtime', 'devcontainer', '--', '-c', ':']);
    assert.equal(mine().length, 2);
    const said = await would();
    assert.match(said, new RegExp(`^would remove: image ${first} \\(\\d+\\.\\d MB\\)$`, 'm'));
    const second = mine().find((name) => name !== first) ?? '';
    assert.doesNotMatch(said, new RegExp(second));
    t.after(() => mine().forEach((name) => spawnSync('docker', ['rmi', '-f', name])));
  },
);

type Homes = { readonly where: Place; readonly lost: string; home: () => string };

/** A place with a home of a workspace that a session ran this in, and that is still there. */
async function lived(t: test.TestContext, script: string): Promise<Homes> {
  const where = await readyPlace(t, 'bubblewrap');
  const lost = path.join(where.dir, 'src', 'lost');
  await mkdir(lost);
  const words = ['--runtime', 'bubblewrap', '--workspace', lost, '--', '-c', script];
  const { code, stderr } = await where.wraptool(['up', 'shell', ...words]);
  assert.equal(code, 0, stderr);
  const homes = path.join(where.home, '.local/state/wraptool/homes/shell');
  return { where, lost, home: () => path.join(homes, readdirSync(homes)[0] ?? 'none') };
}

void test(
  'the home of a session that is alive stays, though its workspace was moved',
  needs('bubblewrap'),
  async (t) => {
    const { where, lost, home } = await lived(t, ':');
    const session = await live(t, 'bubblewrap', { where, workspace: lost });
    await rename(lost, `${lost}-moved`);
    const prune = async () => (await where.wraptool(['prune', '--homes'])).stdout;
    assert.doesNotMatch(await prune(), /home of shell/);
    assert.ok(existsSync(home()));
    await session.end();
    const dir = home();
    assert.match(await prune(), /^removed: home of shell for .*lost, which is gone/m);
    assert.equal(existsSync(dir), false);
  },
);

void test(
  'whatever an agent made of its home, it goes, and nothing that its links lead to',
  needs('bubblewrap'),
  async (t) => {
    const kept = await mkdtemp(path.join(os.tmpdir(), 'wraptool-kept-'));
    t.after(() => rm(kept, { recursive: true, force: true }));
    await writeFile(path.join(kept, 'file'), 'of the host\n');
    const script = `cd; ln -s '${kept}' link; mkdir folder; ln -s '${kept}' folder/link; ln -s '${kept}/file' folder/file
      mkfifo pipe; : > "$(printf 'a\\nb\\033[2J')"; mkdir closed; : > closed/file; chmod 000 closed
      n=$(printf '%0200d' 0); i=0; while [ $i -lt 40 ]; do mkdir $n && cd -P $n || exit 1; i=$((i+1)); done; : > deep`;
    const { where, lost, home } = await lived(t, script);
    await rm(lost, { recursive: true });
    const dir = home();
    const dry = await where.wraptool(['prune', '--homes', '--dry-run']);
    assert.match(dry.stdout, /^would remove: home of shell for .*lost, which is gone/m);
    assert.ok(existsSync(dir));
    const { code, stdout, stderr } = await where.wraptool(['prune', '--homes']);
    // A user that is not root may not look into what is closed, and is told.
    if (process.getuid?.() === 0)
      assert.deepEqual({ code, gone: !existsSync(dir) }, { code: 0, gone: true }, stderr);
    else assert.match(stderr, /could not be removed: .*chmod -R u\+rwX/);
    assert.match(stdout, /^(removed|not removed, it is in use or gone by now): home of shell/m);
    assert.equal(await readFile(path.join(kept, 'file'), 'utf8'), 'of the host\n');
  },
);

void test(
  'a home that cannot be removed is told, and the others go all the same',
  needs('other-user', 'bubblewrap'),
  async (t) => {
    const { where, lost, home } = await lived(t, ': > ~/file');
    await rm(lost, { recursive: true });
    const dir = home();
    // Not even root may change it.
    if (spawnSync('chattr', ['+i', path.join(dir, 'file')]).status !== 0) return t.skip('needs chattr');
    try {
      const { code, stdout, stderr } = await where.wraptool(['prune', '--homes', '--json']);
      assert.equal(code, 1);
      assert.match(stderr, /^warning: ".*" could not be removed: .*Operation not permitted/m);
      const { pruned } = JSON.parse(stdout) as { pruned: Pruned[] };
      assert.deepEqual(
        pruned.filter(({ what }) => what.startsWith('home of')).map(({ removed }) => removed),
        [false],
      );
    } finally {
      spawnSync('chattr', ['-i', path.join(dir, 'file')]);
    }
  },
);

/** Of what prune says with these options: the images that `wanted` names. */
async function said(where: Place, wanted: readonly string[], ...options: string[]): Promise<Pruned[]> {
  const { code, stdout, stderr } = await where.wraptool(['prune', '--json', ...options]);
  assert.equal(code, 0, stderr);
  const { pruned } = JSON.parse(stdout) as { pruned: Pruned[] };
  return pruned.filter(({ what }) => wanted.some((name) => what === `image ${name}`));
}

/** A place whose definition makes an image with this word in it; approved, and a session ran in it. */
async function built(
  t: test.TestContext,
  word: string,
): Promise<{ at: Rig; image: string; container: string }> {
  ensureTestImage();
  const at = await rig(t, { [definition]: JSON.stringify({ build: { dockerfile: 'Dockerfile' } }) });
  return { at, ...(await again(at, word)) };
}

async function again(at: Rig, word: string): Promise<{ image: string; container: string }> {
  const before = imagesOf(at);
  await writeFile(
    path.join(at.workspace, '.devcontainer/Dockerfile'),
    `FROM ${testImage}\nENV WORD=${word}-${process.pid}-${Date.now()}\n`,
  );
  assert.equal((await at.wraptool(['devcontainer', 'approve', '--yes'])).code, 0);
  const { code, stdout, stderr } = await at.up('echo $WORD');
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`^${word}-`));
  const made = imagesOf(at).filter((name) => !before.includes(name));
  const [image, container] = ['approved', 'devcontainer'].map((kind) =>
    made.find((name) => name.startsWith(`wraptool-${kind}:`)),
  );
  assert.ok(image !== undefined && container !== undefined, made.join(' '));
  assert.equal(made.length, 2, made.join(' '));
  return { image, container };
}

const exists = (image: string): boolean => spawnSync('docker', ['image', 'inspect', image]).status === 0;

void test(
  'the image of an approval goes when another content is approved, and what stands on it; the new one stays',
  needs('docker'),
  async (t) => {
    const { at, ...old } = await built(t, 'first');
    const both = [old.image, old.container];
    assert.deepEqual(await said(at, both, '--dry-run'), [], 'approved as it is');
    const fresh = await again(at, 'second');
    const would = await said(at, [...both, fresh.image, fresh.container], '--dry-run');
    assert.deepEqual(
      would.map(({ what, removed }) => [what, removed]),
      [old.container, old.image].map((name) => [`image ${name}`, false]),
    );
    assert.deepEqual(both.map(exists), [true, true], 'only said');
    const done = await said(at, [...both, fresh.image, fresh.container]);
    assert.deepEqual(
      done.map(({ what, removed }) => [what, removed]),
      [old.container, old.image].map((name) => [`image ${name}`, true]),
    );
    assert.deepEqual(both.map(exists), [false, false]);
    assert.deepEqual([fresh.image, fresh.container].map(exists), [true, true]);
    assert.equal((await at.up('exit 4')).code, 4);
    // Asked for all, the current ones go too.
    assert.deepEqual(
      (await said(at, [fresh.image], '--images', '--dry-run')).map(({ removed }) => removed),
      [false],
    );
  },
);

void test(
  'of a workspace that is gone the image goes; another user’s, one in use and one that is being built stay',
  needs('docker'),
  async (t) => {
    const { at, image } = await built(t, 'lost');
    const other = await readyPlace(t, 'devcontainer');
    assert.deepEqual(await said(other, [image], '--dry-run', '--images'), [], 'not of this state folder');
    const names = ['building-0123', 'nobodys'].map((tag) => `wraptool-approved:${tag}-${process.pid}`);
    t.after(() => spawnSync('docker', ['rmi', ...names]));
    for (const name of names)
      assert.equal(
        spawnSync('docker', ['build', '-q', '-t', name, '-'], {
          input: `FROM ${testImage}\nLABEL of=${name}\n`,
        }).status,
        0,
      );
    assert.deepEqual(
      (await said(at, names, '--dry-run')).map(({ what }) => what),
      [`image ${names[1]}`],
      'no approval names it',
    );
    await rename(at.workspace, `${at.workspace}-moved`);
    const rest = { cwd: at.dir };
    const prune = async (...options: string[]) => (await at.wraptool(['prune', ...options], rest)).stdout;
    const container = `wraptool-test-uses-${process.pid}`;
    assert.equal(spawnSync('docker', ['create', '--name', container, image, 'true']).status, 0);
    t.after(() => spawnSync('docker', ['rm', '-f', container]));
    assert.doesNotMatch(await prune('--dry-run'), new RegExp(image), 'a container is of it');
    spawnSync('docker', ['rm', '-f', container]);
    assert.match(await prune('--dry-run'), new RegExp(`^would remove: image ${image} \\(`, 'm'));
    assert.match(await prune(), new RegExp(`^removed: image ${image} \\(`, 'm'));
    assert.equal(exists(image), false);
  },
);
