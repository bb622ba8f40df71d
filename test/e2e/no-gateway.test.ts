/** The gateway comes up while the runtime does: where it can't, nothing of the harness runs, and nothing is left. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { needs } from '../support/real.ts';
import { allRuntimes, dirOf, oddSeconds, readyPlace, withMarker } from './session.ts';
import { until } from './place.ts';

for (const { name: runtime, part } of allRuntimes)
  test(
    `${runtime}: a gateway that cannot start ends the start with its own error`,
    { timeout: 120_000, ...needs(part) },
    async (t) => {
      const where = await readyPlace(t, runtime);
      await where.writeConfig(
        `version: 1\nup: { base_image: wraptool-test-base, network: none }\ntools: { git: { binary: /usr/bin/no-such-git, allow: [{ subcommand: status }] } }\n`,
      );
      const marker = oddSeconds();
      const args = [
        'up',
        'shell',
        '--runtime',
        runtime,
        '--name',
        'life',
        '--',
        '-c',
        `echo ran; sleep ${marker}`,
      ];
      const { code, stdout, stderr } = await where.wraptool(args);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /error: .*\/usr\/bin\/no-such-git.* does not exist\nhint: /);
      assert.equal(stdout, '');
      assert.equal(existsSync(dirOf(where, 'life')), false);
      await until('nothing of it runs', async () => (await withMarker(marker)).length === 0);
      // What holds a runtime open names the session's folder, or its container.
      await until('no runtime is left', async () => (await withMarker(dirOf(where, 'life'))).length === 0);
    },
  );
