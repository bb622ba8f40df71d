/** Which runtime a session gets. The order is by strength, and the workspace's last one is the floor. */
import assert from 'node:assert/strict';
import { before, describe, test, type TestContext } from 'node:test';
import { chooseRuntime, parseRuntime } from '../../src/up/choose.ts';
import { hasRealGuix, provideGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';

const about = { baseImage: 'wraptool-test-base', workspace: '/nowhere' };

describe('auto', needs('guix', 'bubblewrap'), () => {
  before(() => provideGuix());

  test('takes guix where it works', async () => {
    const { runtime, why } = await chooseRuntime('auto', undefined, about);
    assert.deepEqual([runtime.name, why], ['guix', 'the first that works']);
  });

  for (const last of ['devcontainer', 'bubblewrap'])
    test(`takes guix also where ${last} ran last time: it is no weaker`, async () => {
      assert.equal((await chooseRuntime('auto', last, about)).runtime.name, 'guix');
    });

  describe('where guix fails', hasRealGuix ? { skip: 'the fault is the stand-in’s' } : {}, () => {
    const failing = (t: TestContext): void => {
      process.env['GUIX_STANDIN_FAULT'] = 'apparmor';
      t.after(() => delete process.env['GUIX_STANDIN_FAULT']);
    };

    test('it takes the next one and says why', async (t) => {
      failing(t);
      const { runtime, why } = await chooseRuntime('auto', undefined, about);
      assert.notEqual(runtime.name, 'guix');
      assert.match(why, /^guix: mount: mount "none" on ".*": Permission denied/);
    });

    test('it takes none where guix ran last time', async (t) => {
      failing(t);
      await assert.rejects(chooseRuntime('auto', 'guix', about), {
        code: 'runtime_unavailable',
        message: /this workspace ran in "guix" last time, which does not work now \(guix: mount: /,
        hint: 'mend it, or name another one with --runtime',
      });
    });

    test('a weaker one is there for whoever names it', async (t) => {
      failing(t);
      assert.equal((await chooseRuntime('bubblewrap', 'guix', about)).why, 'asked for');
    });

    test('guix by name is refused with its reason and hint', async (t) => {
      failing(t);
      await assert.rejects(chooseRuntime('guix', undefined, about), {
        code: 'runtime_unavailable',
        message: /^the runtime "guix" cannot run here: mount: /,
        hint: /AppArmor/,
      });
    });
  });
});

test('an unknown runtime is refused with the names that there are', () => {
  assert.throws(() => parseRuntime('docker'), {
    code: 'runtime_unknown',
    hint: 'there are: auto, guix, devcontainer, bubblewrap',
  });
});
