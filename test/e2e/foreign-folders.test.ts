/** root with another user's XDG folders, as `sudo -E` gives them: nothing there is believed, run or written. */
import assert from 'node:assert/strict';
import { chown, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { gitConfig, place } from './place.ts';

const cases = [
  { name: 'XDG_RUNTIME_DIR', args: ['ps'], what: 'state' },
  { name: 'XDG_RUNTIME_DIR', args: ['up', 'shell'], what: 'state' },
  { name: 'XDG_STATE_HOME', args: ['up', 'shell'], what: 'log' },
  { name: 'XDG_CACHE_HOME', args: ['up', 'shell'], what: 'state' },
] as const;

for (const { name, args, what } of cases)
  void test(`${args.join(' ')} with the ${name} of another user is refused`, needs('root'), async (t) => {
    const where = await place(t);
    await where.writeConfig(gitConfig);
    const foreign = path.join(where.dir, 'foreign');
    await mkdir(foreign);
    await chown(foreign, 65534, 65534);
    const { code, stdout, stderr } = await where.wraptool(args, { env: { [name]: foreign } });
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, new RegExp(`^error: the ${what} ".*/foreign/.*belongs to user 65534`));
    assert.match(stderr, /^hint: /m);
    assert.deepEqual(await readdir(foreign), []);
  });

void test(
  'compiled code is neither read from nor written to another user’s cache',
  needs('root'),
  async (t) => {
    const where = await place(t);
    await where.writeConfig(gitConfig);
    const foreign = path.join(where.dir, 'foreign');
    await mkdir(path.join(foreign, 'wraptool', 'compile'), { recursive: true });
    await chown(foreign, 65534, 65534);
    const { code } = await where.wraptool(['ps'], { env: { XDG_CACHE_HOME: foreign } });
    assert.equal(code, 0);
    assert.deepEqual(await readdir(path.join(foreign, 'wraptool', 'compile')), []);
  },
);
