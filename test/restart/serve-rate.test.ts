/** A gateway of `serve --name` that is restarted too often: its bucket is the same for the processes that follow. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { askRestart } from '../../src/up/control/restart-client.ts';
import { sinceBoot } from '../../src/up/control/turns.ts';
import { eventsOf } from '../gateway/records.ts';
import { until } from '../support/until.ts';
import { armed, host } from './serve-support.ts';

/** Asks for that many restarts at once, over the supervisor's own socket. */
async function flood(env: Readonly<Record<string, string>>, count: number) {
  const asked = { namespace: 'tools', mode: 'restart', confirm: 'restart tools' };
  const answers = await Promise.all(
    Array.from({ length: count }, () => askRestart(env, 'tools', asked, false, () => undefined)),
  );
  return answers.map(({ answer }) => answer);
}

describe('serve --name', () => {
  void test('it is restarted often, but not without bound, and its next process goes on counting', async (t) => {
    const { it, gateway, asked, calls } = await host(t, armed);
    const answers = await flood(it.env, 200);
    const over = answers.filter(({ allowed }) => !allowed);
    assert.ok(answers.length - over.length >= 60, 'a burst is done');
    assert.ok(over.length > 0, 'and what comes on top of it is refused');
    for (const one of over) {
      assert.deepEqual(
        [one.reason_code, one.success, one.gates_passed.length],
        ['restart_rate_limited', false, 6],
      );
      assert.ok((one.retry_after_seconds ?? 0) >= 1);
      assert.match(one.detail, /there is room in \d+ s/);
    }
    await until(
      'the others are done',
      async () => (await calls()).trim().split('\n').length === answers.length - over.length,
      30_000,
    );
    const refused = (await eventsOf(it.log, 'restart')).filter(({ result }) => result === 'refused');
    assert.deepEqual(
      refused.map(({ reason, mode }) => [reason, mode]),
      over.map(() => ['restart_rate_limited', 'restart']),
    );

    const file = path.join(it.dir, 'run', 'wraptool', 'tools.turns');
    const fullAt = async () => (JSON.parse(await readFile(file, 'utf8')) as { full_at: number }).full_at;
    gateway.child.kill('SIGKILL');
    await until('it is gone', () => gateway.child.signalCode);
    await writeFile(file, JSON.stringify({ full_at: sinceBoot() + 68_000 }));
    await it.serve({ args: ['serve', '--config', it.config, '--json', '--name', 'tools'], env: armed });
    const before = await fullAt();
    assert.equal((await asked('--confirm', 'restart tools')).code, 0);
    assert.ok((await fullAt()) > before - 8_000, 'those before it count');
  });

  void test('over the limit the command line ends with 3, and says when to ask again', async (t) => {
    const { it, asked } = await host(t, armed);
    await flood(it.env, 70);
    let over = false;
    // Whoever is refused asks again at once: no turn that comes back is left for another.
    const others = Array.from({ length: 12 }, async () => {
      while (!over) await flood(it.env, 1);
    });
    try {
      const { code, json } = await until(
        'it is refused',
        async () => {
          const answer = await asked('--confirm', 'restart tools');
          return answer.code === 3 ? answer : null;
        },
        60_000,
      );
      assert.deepEqual([code, json['reason_code']], [3, 'restart_rate_limited']);
      assert.ok(Number(json['retry_after_seconds']) >= 1);
      assert.match(String(json['next_action']), /ask again in \d+ s/);
    } finally {
      over = true;
      await Promise.all(others);
    }
  });
});
