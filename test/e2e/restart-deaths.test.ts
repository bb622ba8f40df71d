/** The supervisor dies in the middle of a restart. */
import assert from 'node:assert/strict';
import { access, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { needs } from '../support/real.ts';
import { until, type Place } from './place.ts';
import { callThatLasts, now, session, slow } from './restart-rig.ts';
import { live, withMarker } from './session.ts';

const real = { timeout: 180_000, ...needs('bubblewrap') };

describe('its supervisor is killed', { concurrency: 2 }, () => {
  const phases: Readonly<Record<string, (where: Place, dir: string) => Promise<boolean>>> = {
    'while it waits for a call in flight': async (where) => {
      const { health } = JSON.parse((await where.wraptool(['inspect', 'life', '--json'])).stdout) as {
        health: { reasons: string[] };
      };
      return health.reasons.some((reason) => reason.startsWith('quiescing'));
    },
    'when the new gateway listens': async (_where, dir) => (await readdir(dir)).includes('gateway-2.sock'),
    'when the new gateway has the address': async (_where, dir) =>
      (await readFile(path.join(dir, 'events.jsonl'), 'utf8')).split('"what":"gateway"').length > 2,
    'when the restart is done': async (_where, dir) =>
      (await readFile(path.join(dir, 'events.jsonl'), 'utf8')).includes('"what":"restart"'),
  };
  for (const [phase, reached] of Object.entries(phases))
    void test(`${phase}: nothing stays, and the name can be used again`, real, async (t) => {
      const it = await session(t, '', 'bubblewrap', slow);
      const { where, dir } = it;
      if (phase.includes('in flight')) await callThatLasts(t, where);
      const asked = where.start(['restart', 'life', '--confirm', 'restart life', '--wait', '--json']);
      const ended = new Promise<number | null>((resolve) => asked.once('close', resolve));
      await until(phase, () => reached(where, dir), 60_000);
      it.child.kill('SIGKILL');
      // Where it was not held up it may have been done before.
      const code = await ended;
      if (phase.includes('in flight'))
        assert.equal(code, 1, 'whoever waits is told that nobody answers any more');
      // What it had started ends by itself; what is left of the folder the next command removes.
      await until(
        'no gateway is left',
        async () => (await withMarker(`${path.dirname(dir)}/life/gateway-`)).length === 0,
        60_000,
      );
      await where.wraptool(['ps']);
      await assert.rejects(access(dir), { code: 'ENOENT' });
      const again = await live(t, 'bubblewrap', { where, up: ['--allow-restart'] });
      assert.equal((await now(where)).code, 0);
      await again.end();
    });
});
