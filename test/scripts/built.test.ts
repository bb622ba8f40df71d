/** A checkout runs bundles of exactly what its source is now, or the source itself. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFile,
  cp,
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
    dir = await mkdtemp(path.join(os.tmpdir(), 'wraptool-built-'));
    for (const name of ['src', 'script', 'harnesses', 'package.json', 'package-lock.json'])
      await cp(path.join(root, name), path.join(dir, name), { recursive: true });
    await symlink(path.join(root, 'node_modules'), path.join(dir, 'node_modules'));
  });
  after(() => rm(dir, { recursive: true, force: true }));

  const at = (name: string): string => path.join(dir, name);
  const built = async (): Promise<string[]> =>
    (await readdir(dir)).filter((name) => name.startsWith('.built-'));
  const version = async (): Promise<{ stdout: string; stderr: string }> => {
    const env = { PATH: process.env['PATH'], HOME: dir };
    const { stdout, stderr } = await promisify(execFile)(at('script/wraptool'), ['--version'], { env });
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

  test('what cannot be built is run from its source', async () => {
    await change('src/cli/commands/scrub.ts', 'import ', 'imp ort ');
    const { stdout, stderr } = await version();
    assert.match(stderr, /it runs from its source, which is slower\n$/);
    assert.match(stdout, /^.+\n$/);
    assert.equal((await built()).length, 2);
  });
});
