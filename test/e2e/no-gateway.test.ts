/** The gateway comes up while the runtime does: where it can't, nothing of the harness runs, and nothing is left. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { needs } from '../support/real.ts';
import { allRuntimes, dirOf, oddSeconds, readyPlace, withMarker } from './session.ts';
import { finish, until } from './place.ts';

/** A session whose harness would say that it ran. */
const start = (runtime: string, marker: string): string[] => [
  ...['up', 'shell', '--runtime', runtime, '--name', 'life'],
  ...['--', '-c', `echo ran; sleep ${marker}`],
];

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
      const args = start(runtime, marker);
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

/** What a session says of its runtime once that is there. */
async function hasRuntime(dir: string): Promise<boolean> {
  try {
    const { facts } = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as { facts: object };
    return Object.keys(facts).length > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

for (const { name: runtime, part } of allRuntimes)
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    test(
      `${runtime}: ${signal} ends a start whose gateway hangs, with all that was made`,
      { timeout: 180_000, ...needs(part) },
      async (t) => {
        const where = await readyPlace(t, runtime);
        const hang = path.join(where.dir, 'hang.mjs');
        await writeFile(
          hang,
          "if (process.argv.includes('--supervised')) await new Promise(() => setInterval(() => undefined, 1000));\n",
        );
        const marker = oddSeconds();
        const args = start(runtime, marker);
        const child = where.start(args, { env: { NODE_OPTIONS: `--import=${hang}` } });
        const result = finish(child, '');
        const dir = dirOf(where, 'life');
        await until('the runtime is there', () => hasRuntime(dir), 60_000);
        const begun = performance.now();
        child.kill(signal);
        const { code: given, stdout, stderr } = await result;
        assert.deepEqual([given, stdout], [code, ''], stderr);
        assert.ok(performance.now() - begun < 40_000, 'it does not wait for the gateway');
        assert.equal(existsSync(dir), false);
        await until('nothing of it is left', async () => (await withMarker(dir)).length === 0);
      },
    );
