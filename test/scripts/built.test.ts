/** A checkout runs bundles of exactly what its source is now, or the source itself. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const building = 'bootstrap: building it, once for each change of src/\n';

describe('script/wraptool in a checkout', () => {
  let dir = '';
  before(async () => {
    dir = path.join(await mkdtemp(path.join(os.tmpdir(), 'wraptool-built-')), 'checkout');
    await mkdir(dir);
    for (const name of ['src', 'script', 'harnesses', 'package.json', 'package-lock.json'])
      await cp(path.join(root, name), path.join(dir, name), { recursive: true });
    await symlink(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  });
  after(() => rm(path.dirname(dir), { recursive: true, force: true }));

  const at = (name: string): string => path.join(dir, name);
  const built = async (): Promise<string[]> =>
    (await readdir(dir)).filter((name) => name.startsWith('.built-'));
  /** `as`: shell words that start it, from the folder above. */
  const version = async (
    as = './checkout/script/wraptool',
    more: Record<string, string> = {},
  ): Promise<{ stdout: string; stderr: string }> => {
    const options = { env: { PATH: process.env['PATH'], HOME: dir, ...more }, cwd: path.dirname(dir) };
    const { stdout, stderr } = await promisify(execFile)('/bin/sh', ['-c', `${as} --version`], options);
    return { stdout, stderr };
  };
  /** As somebody does who keeps the file's time, and its place. */
  const change = async (name: string, from: string, to: string): Promise<void> => {
    const { atime, mtime } = await stat(at(name));
    const text = await readFile(at(name), 'utf8');
    assert.ok(text.includes(from));
    await writeFile(at(name), text.replace(from, to));
    await utimes(at(name), atime, mtime);
  };

  /** Another state of the sources, for all that can be seen of it. */
  const touched = (): Promise<void> => utimes(at('package.json'), new Date(), new Date());

  test('builds at its first start, says so on stderr alone, and runs what it built', async () => {
    const first = await version();
    assert.equal(first.stderr, building);
    const [folder, ...others] = await built();
    assert.deepEqual(others, []);
    await appendFile(at(`${folder}/main.js`), "\nprocess.stdout.write('of the bundle\\n');\n");
    assert.deepEqual(await version(), { stdout: `${first.stdout}of the bundle\n`, stderr: '' });
  });

  test('a change of a source counts at the next start, even one that keeps length and time of the file', async () => {
    await change('src/cli/version.ts', ').version', ').license');
    assert.deepEqual(await version(), { stdout: 'Apache-2.0\n', stderr: building });
    assert.equal((await built()).length, 2);
  });

  test('what was used lately stays, what no start has used for a month goes', async () => {
    const [old, ...others] = await built();
    const past = new Date(Date.now() - 40 * 24 * 3_600_000);
    await utimes(at(`${old}/used`), past, past);
    await utimes(at(old ?? ''), past, past);
    for (const other of others) await utimes(at(other), past, past);
    await change('src/cli/version.ts', ').license', ').version');
    await version();
    const left = await built();
    assert.deepEqual([left.includes(old ?? ''), others.every((one) => left.includes(one))], [false, true]);
  });

  for (const mask of ['077', '000'])
    test(`umask ${mask}: what is built is everybody’s to read, and its maker’s alone to write`, async () => {
      const before = await built();
      await touched();
      await version(`umask ${mask}; ./checkout/script/wraptool`);
      const [made = ''] = (await built()).filter((one) => !before.includes(one));
      const modeOf = async (name: string): Promise<string> =>
        ((await stat(at(path.join(made, name)))).mode & 0o777).toString(8);
      const folders = ['', 'main.js', 'relay', 'up/runtime/holder'];
      const files = ['start.js', 'relay/preflight.js', 'up/runtime/holder/package.json', 'web/page/main.js'];
      assert.deepEqual(await Promise.all(folders.map(modeOf)), ['755', '755', '755', '755']);
      assert.deepEqual(await Promise.all(files.map(modeOf)), ['644', '644', '644', '644']);
    });

  test('one of which parts were removed is made anew, once', async () => {
    for (const one of await built()) await rm(at(`${one}/main.js`));
    assert.equal((await version()).stderr, building);
    assert.equal((await version()).stderr, '');
  });

  test('CDPATH leads nowhere else', async () => {
    await touched();
    const more = { CDPATH: path.dirname(dir) };
    assert.equal((await version('checkout/script/wraptool', more)).stderr, building);
    assert.equal((await version('checkout/script/wraptool', more)).stderr, '');
  });

  test('several first starts at once make one, and all run it', async () => {
    const before = await built();
    await touched();
    const starts = await Promise.all([1, 2, 3].map(() => version()));
    assert.deepEqual(
      starts.filter(({ stdout }) => stdout !== starts[0]?.stdout),
      [],
    );
    assert.equal((await built()).length, before.length + 1);
  });

  test('a lock that somebody else made and closed keeps nobody from building', async () => {
    await mkdir(at('.cache/built.lock'), { recursive: true });
    await touched();
    assert.equal((await version()).stderr, building);
  });

  test('what lacks a package is not built', async () => {
    const before = await built();
    await change('src/cli/commands/scrub.ts', 'import ', "import 'no-such-package';\nimport ");
    const { stderr } = await version();
    assert.match(stderr, /not found: no-such-package\n[^]*it runs from its source, which is slower\n$/);
    assert.deepEqual(await built(), before);
    await change('src/cli/commands/scrub.ts', "import 'no-such-package';\n", '');
  });

  test('what cannot be built is run from its source', async () => {
    const before = (await built()).length;
    await change('src/cli/commands/scrub.ts', 'import ', 'imp ort ');
    const { stdout, stderr } = await version();
    assert.match(stderr, /it runs from its source, which is slower\n$/);
    assert.match(stdout, /^.+\n$/);
    assert.equal((await built()).length, before);
  });
});
