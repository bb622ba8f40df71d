/**
 * `up` is killed at a random moment of its life; the next command must find and remove whatever that left.
 * `npm run deaths` kills 100 times in each runtime, an ordinary run a few times.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pathWithGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';
import { leftOf } from './left.ts';
import { finish, gitConfig, place, until } from './place.ts';

const deaths = Number(process.env['WRAPTOOL_DEATHS'] ?? '4');
const runtimes = [
  { name: 'guix', part: 'guix', network: 'none' },
  { name: 'bubblewrap', part: 'bubblewrap', network: 'private' },
  { name: 'bubblewrap', part: 'bubblewrap', network: 'none' },
  { name: 'devcontainer', part: 'docker', network: 'none' },
] as const;

for (const { name: runtime, part, network } of runtimes)
  void test(
    `${runtime}, network ${network}: killed at ${deaths} random moments, ps finds all that is left`,
    needs(part, ...(network === 'private' ? (['network-private'] as const) : [])),
    async (t) => {
      const where = await place(t);
      where.env['PATH'] = pathWithGuix(where.env['PATH']);
      await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: ${network} }\n`);
      const args = ['up', 'shell', '--runtime', runtime, '--', '-c', 'echo harness-is-ready; exec sleep 600'];
      let whole = 0;
      for (let death = 0; death <= deaths; death += 1) {
        const name = `death-${process.pid}-${death}`;
        const began = performance.now();
        const child = where.start([...args.slice(0, 2), '--name', name, ...args.slice(2)]);
        const done = finish(child, '');
        const running = new Promise<void>((resolve) =>
          child.stdout?.on('data', (text: string) => text.includes('harness-is-ready') && resolve()),
        );
        // The first one lives until the harness runs: it tells how long that takes.
        const moment = Math.random() * whole * 1.1;
        await Promise.race([
          running.then(() => (whole ||= performance.now() - began)),
          done,
          ...(whole === 0 ? [] : [new Promise((resolve) => setTimeout(resolve, moment))]),
        ]);
        child.kill('SIGKILL');
        await done;
        const said: string[] = [];
        let left: string[] = [];
        await until(
          `nothing is left of ${name}, killed after ${Math.round(moment)} of ${Math.round(whole)} ms`,
          async () => {
            const { code, stderr } = await where.wraptool(['ps']);
            said.push(stderr);
            left = await leftOf(where, name, runtime === 'devcontainer');
            return code === 0 && left.length === 0;
          },
          12_000,
        ).catch((error: unknown) => {
          assert.fail(`${String(error)}\nleft: ${left.join('\n  ')}\nps said: ${said.join('')}`);
        });
      }
    },
  );
