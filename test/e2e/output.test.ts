/** What becomes of a command whose output nobody takes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { open, readdir } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import path from 'node:path';
import test from 'node:test';
import { pathWithGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';
import { finish, gitConfig, place, type Place } from './place.ts';
import { main } from '../support/main.ts';

const runtimes = [
  { name: 'guix', part: 'guix' },
  { name: 'bubblewrap', part: 'bubblewrap' },
  { name: 'devcontainer', part: 'docker' },
] as const;

async function ready(t: test.TestContext): Promise<Place> {
  const where = await place(t);
  where.env['PATH'] = pathWithGuix(where.env['PATH']);
  await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
  return where;
}

for (const args of [['ps'], ['config', 'schema'], ['up', 'shell', '--runtime', 'bubblewrap', '--dry-run']])
  void test(`${args[0]}: a reader that has gone is no fault`, needs('bubblewrap'), async (t) => {
    const where = await ready(t);
    const child = where.start(args);
    child.stdout?.destroy();
    const { code, stderr } = await finish(child, '');
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });

void test('output that does not fit on the disk is an error of one line', async (t) => {
  const where = await ready(t);
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [main, 'config', 'schema'], {
    env: where.env,
    stdio: ['ignore', full.fd, 'pipe'],
  });
  const { code, stderr } = await finish(child, '');
  await full.close();
  assert.equal(code, 1);
  assert.match(stderr, /^error: the output could not be written: ENOSPC[^\n]*\n$/);
});

for (const { name: runtime, part } of runtimes)
  void test(
    `${runtime}: a harness whose output nobody reads any more ends as by SIGPIPE, and nothing is left`,
    needs(part),
    async (t) => {
      const where = await ready(t);
      const child = where.start(['up', 'shell', '--runtime', runtime, '--', '-c', 'yes']);
      await once(child.stdout!, 'data');
      child.stdout?.destroy();
      const { code, stderr } = await finish(child, '');
      assert.equal(code, 141, stderr);
      assert.doesNotMatch(stderr, /\bat .*:\d+/, 'no stack trace');
      assert.deepEqual(await readdir(path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool')), []);
    },
  );
