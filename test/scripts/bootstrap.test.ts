import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { needs } from '../support/real.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const scratch = await mkdtemp(path.join(os.tmpdir(), 'wraptool-script-'));
after(() => rm(scratch, { recursive: true, force: true }));
await chmod(scratch, 0o755);

/** What a run needs of the system, each a program that does nothing, beside what the scripts themselves use. */
const parts = ['node', 'git', 'bwrap', 'flock', 'prlimit', 'slirp4netns', 'setpriv', 'pasta'];
const used = [
  'bash',
  'env',
  'sha256sum',
  'sort',
  'mkdir',
  'cat',
  'grep',
  'chmod',
  'sleep',
  'readlink',
  'flock',
];

type Checkout = { readonly dir: string; readonly bin: string; run(script: string, ...args: string[]): Run };
type Run = Promise<{ code: number; stdout: string; stderr: string }>;

/** A checkout with an npm that notes how it is called and makes a Node 24 that tells where it is. */
async function checkout(lacking: readonly string[] = []): Promise<Checkout> {
  const dir = await mkdtemp(path.join(scratch, 'checkout-'));
  const bin = path.join(dir, 'bin');
  await mkdir(bin);
  await mkdir(path.join(dir, 'src'));
  await cp(path.join(root, 'script'), path.join(dir, 'script'), { recursive: true });
  await writeFile(path.join(dir, 'package-lock.json'), '{}');
  await writeFile(
    path.join(bin, 'npm'),
    `#!/bin/bash
echo "npm says $*"
echo "$*" >> ${dir}/npm.log
if [ "$1" = ci ]; then sleep 0.3; rm -rf node_modules; mkdir -p node_modules/.bin; fi
if [ "$1" = rebuild ]; then
  printf '#!/bin/bash\\nif [ "$1" = --version ]; then echo v24.11.0; else echo "$PWD" "$@"; fi\\n' > node_modules/.bin/node
  chmod +x node_modules/.bin/node
fi
`,
    { mode: 0o755 },
  );
  for (const name of new Set([...parts, ...used])) {
    if (lacking.includes(name)) continue;
    const real = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    if (used.includes(name)) await symlink(real, path.join(bin, name));
    else await writeFile(path.join(bin, name), '#!/bin/sh\n', { mode: 0o755 });
  }
  await chmod(dir, 0o777);
  return { dir, bin, run: (script, ...args) => run(path.join(dir, 'script', script), args, { PATH: bin }) };
}

async function run(file: string, args: readonly string[], env: Record<string, string>, cwd = '/'): Run {
  try {
    const { stdout, stderr } = await promisify(execFile)(file, args, { env, cwd });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

const calls = async ({ dir }: Checkout): Promise<string[]> =>
  (await readFile(path.join(dir, 'npm.log'), 'utf8')).trim().split('\n');

const installing = [
  'ci --ignore-scripts --no-audit --no-fund --loglevel=error',
  'rebuild node --ignore-scripts=false --loglevel=error',
];

describe('script/bootstrap', () => {
  test('installs what the lock file says once, and speaks on stderr alone', async () => {
    const place = await checkout();
    const first = await place.run('bootstrap');
    assert.deepEqual({ code: first.code, stdout: first.stdout }, { code: 0, stdout: '' });
    assert.match(first.stderr, /^bootstrap: installing node_modules\nnpm says ci /);
    assert.deepEqual(await place.run('bootstrap'), { code: 0, stdout: '', stderr: '' });
    assert.deepEqual(await calls(place), installing);
  });

  test('installs again when the lock file has changed, or its Node is gone', async () => {
    const place = await checkout();
    await place.run('bootstrap');
    await writeFile(path.join(place.dir, 'package-lock.json'), '{ }');
    await place.run('bootstrap');
    await rm(path.join(place.dir, 'node_modules/.bin/node'));
    await place.run('bootstrap');
    assert.deepEqual(await calls(place), [...installing, ...installing, ...installing]);
  });

  test('run twice at once installs once', async () => {
    const place = await checkout();
    const both = await Promise.all([place.run('bootstrap'), place.run('bootstrap'), place.run('bootstrap')]);
    assert.deepEqual(
      both.map(({ code }) => code),
      [0, 0, 0],
    );
    assert.deepEqual(await calls(place), installing);
  });

  test('that fails leaves no stamp', async () => {
    const place = await checkout();
    await writeFile(path.join(place.bin, 'npm'), '#!/bin/bash\nexit 7\n');
    assert.equal((await place.run('bootstrap')).code, 7);
    await assert.rejects(stat(path.join(place.dir, 'node_modules/.bootstrap-stamp')), { code: 'ENOENT' });
  });

  test('refuses a part that it does not know', async () => {
    const place = await checkout();
    assert.deepEqual(await place.run('bootstrap', '--with', 'doker'), {
      code: 2,
      stdout: '',
      stderr: 'bootstrap: there is no part "doker" (docker, test, demo)\n',
    });
  });

  test(
    'prints the command for what is missing where it may not install, and ends with 1',
    needs('setpriv'),
    async () => {
      const place = await checkout();
      const hidden = '/usr/bin/bwrap';
      // The folders of the system are searched too, so that what is there is found without a PATH.
      const script = path.join(place.dir, 'script/bootstrap');
      const text = (await readFile(script, 'utf8')).replaceAll(/:\/usr\/local\/sbin:\/usr\/sbin:\/sbin/g, '');
      await writeFile(script, text);
      await rm(path.join(place.bin, path.basename(hidden)));
      await rm(path.join(place.bin, 'pasta'));
      const asUser = ['--reuid=65534', '--regid=65534', '--clear-groups', script];
      const setpriv = spawnSync('sh', ['-c', 'command -v setpriv'], { encoding: 'utf8' }).stdout.trim();
      assert.deepEqual(await run(setpriv, asUser, { PATH: place.bin }), {
        code: 1,
        stdout: '',
        stderr:
          'bootstrap: missing: bubblewrap passt\n' +
          'bootstrap: on Debian or Ubuntu: sudo apt-get install --no-install-recommends bubblewrap passt\n',
      });
    },
  );

  test('costs less than 50 ms when nothing is missing', async () => {
    const place = await checkout();
    await place.run('bootstrap');
    const script = path.join(place.dir, 'script/bootstrap');
    // Processor time, which neighbours hardly change; one quick run shows what it costs.
    const timed = `TIMEFORMAT='%3U %3S'; time ${script}`;
    let best = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 20 && best >= 50; tries += 1) {
      const { status, stderr } = spawnSync('/bin/bash', ['--norc', '-c', timed], {
        env: { PATH: place.bin },
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      assert.match(stderr, /^[\d.]+ [\d.]+\n$/);
      const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
      best = Math.min(best, (user + system) * 1000);
    }
    assert.ok(best < 50, `the best of 20 runs took ${best.toFixed(1)} ms`);
  });
});

describe('script/wraptool', () => {
  test('passes arguments on, keeps the caller’s folder, and leaves stdout alone while it installs', async () => {
    const place = await checkout();
    const script = path.join(place.dir, 'script/wraptool');
    const first = await run(script, ['up', 'a b', '--', '*'], { PATH: place.bin }, scratch);
    const main = `${place.dir}/script/../src/main.ts`;
    assert.deepEqual(
      { code: first.code, stdout: first.stdout },
      { code: 0, stdout: `${scratch} ${main} up a b -- *\n` },
    );
    assert.match(first.stderr, /npm says ci/);
  });

  test('works through a link, and says nothing of its own', async () => {
    const place = await checkout();
    await place.run('bootstrap');
    const link = path.join(place.dir, 'wt');
    await symlink(path.join(place.dir, 'script/wraptool'), link);
    assert.deepEqual(await run(link, ['x'], { PATH: place.bin }, scratch), {
      code: 0,
      stdout: `${scratch} ${`${place.dir}/script/../src/main.ts`} x\n`,
      stderr: '',
    });
  });
});
