/** A harness that stops all that it can, so that no word passes any more: the session still ends when it is told to. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { leftOf } from './left.ts';
import { finish, until } from './place.ts';
import { allRuntimes, readyPlace } from './session.ts';
import { needs } from '../support/real.ts';

/** Deaf to what can be refused; stops every other process, then says so in a file. */
const script = `trap '' TERM HUP INT QUIT
  (setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' &)
  for p in /proc/[0-9]*; do n=\${p#/proc/}; [ "$n" = $$ ] || [ "$n" = 1 ] || kill -STOP "$n" 2>/dev/null; done
  : > stopped; while :; do sleep 1; done`;

for (const { name: runtime, part } of allRuntimes)
  for (const how of ['down', 'SIGHUP'] as const)
    void test(`${runtime}, ${how}: it ends, and nothing is left`, needs(part), async (t) => {
      const where = await readyPlace(t, runtime);
      const name = `stubborn-${process.pid}`;
      const child = where.start(['up', 'shell', '--runtime', runtime, '--name', name, '--', '-c', script]);
      const ended = finish(child, '');
      t.after(() => child.kill('SIGKILL'));
      const stopped = path.join(where.workspace, 'stopped');
      await until('all is stopped', async () => existsSync(stopped) || child.exitCode !== null, 60_000);
      const began = performance.now();
      if (how === 'down') {
        const { code, stderr } = await where.wraptool(['down', name]);
        assert.equal(code, 0, stderr);
      } else child.kill(how);
      await ended;
      assert.ok(performance.now() - began < 30_000);
      await until(
        'nothing is left',
        async () => (await leftOf(where, name, runtime === 'devcontainer')).length === 0,
        30_000,
      );
    });
