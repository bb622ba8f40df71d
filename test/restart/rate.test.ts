/** How often a namespace is restarted: the bucket by a clock of the test's own, and a supervisor's by the machine's. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import {
  giveBack,
  inherited,
  restartRate,
  takeTurn,
  type FullAt,
  type Turn,
} from '../../src/restart/rate.ts';
import { keptBucket } from '../../src/up/control/kept-bucket.ts';
import { Turns } from '../../src/up/control/turns.ts';

const second = 1000;

/** A bucket and a clock that is set by hand. */
function bucket(start = 5_000_000) {
  let fullAt: FullAt = null;
  let now = start;
  return {
    pass: (ms: number) => (now += ms),
    take(): Turn {
      const turn = takeTurn(fullAt, now);
      if (!('retryAfterMs' in turn)) ({ fullAt } = turn);
      return turn;
    },
    back: () => (fullAt = fullAt === null ? null : giveBack(fullAt)),
    waits(): number {
      const turn = this.take();
      assert.ok('waitMs' in turn, JSON.stringify(turn));
      return turn.waitMs;
    },
  };
}

describe('the bucket', () => {
  test('is as generous as the contract says', () =>
    assert.deepEqual(restartRate, { burst: 60, everyMs: second, mostWaiting: 8 }));

  test('gives 60 at once, then has 8 wait, each a second longer, and refuses the next', () => {
    const it = bucket();
    for (let count = 0; count < 60; count += 1) assert.equal(it.waits(), 0);
    for (let count = 1; count <= 8; count += 1) assert.equal(it.waits(), count * second);
    assert.deepEqual(it.take(), { retryAfterMs: second });
    assert.deepEqual(it.take(), { retryAfterMs: second }, 'a refusal takes nothing');
    it.pass(400);
    assert.deepEqual(it.take(), { retryAfterMs: 600 });
    it.pass(600);
    assert.equal(it.waits(), 8 * second);
  });

  test('200 that are asked one after the other are all done, one in a second where they are fast', () => {
    const it = bucket();
    let waited = 0;
    for (let count = 0; count < 200; count += 1) {
      const ms = it.waits();
      assert.ok(ms <= second);
      it.pass(ms);
      waited += ms;
    }
    assert.equal(waited, 140 * second);
  });

  test('those that take longer than a second never wait', () => {
    const it = bucket();
    for (let count = 0; count < 500; count += 1) {
      assert.equal(it.waits(), 0);
      it.pass(second);
    }
  });

  test('fills again, and never above a burst', () => {
    const it = bucket();
    for (let count = 0; count < 60; count += 1) it.waits();
    it.pass(1_000_000);
    for (let count = 0; count < 60; count += 1) assert.equal(it.waits(), 0);
    assert.equal(it.waits(), second);
  });

  test('a turn that is given back makes room for another', () => {
    const it = bucket();
    for (let count = 0; count < 68; count += 1) it.take();
    assert.ok('retryAfterMs' in it.take());
    it.back();
    assert.equal(it.waits(), 8 * second);
  });

  test('another process takes it over without those who waited; a time of another boot counts for nothing', () => {
    assert.equal(inherited(null, 50), null);
    assert.equal(inherited(30_000, 10_000), 30_000);
    assert.equal(inherited(75_000, 10_000), 70_000);
    assert.equal(inherited(900_000_000, 10_000), null);
    assert.deepEqual(takeTurn(900_000_000, 10_000), { fullAt: 11_000, waitMs: 0 });
    assert.deepEqual(takeTurn(5, 10_000), { fullAt: 11_000, waitMs: 0 });
  });
});

describe('the turns of a supervisor', () => {
  const limit = { burst: 2, everyMs: 200, mostWaiting: 2 };
  const forever = new AbortController().signal;

  test('each namespace has a bucket of its own; who is over it waits, is told, or refused', async () => {
    const turns = new Turns({ limit, clock: () => 1_000 });
    const told: number[] = [];
    const take = (name: string) => turns.take(name, (ms) => told.push(ms), forever);
    assert.deepEqual([await take('a'), await take('a')], ['now', 'now']);
    const waiting = [take('a'), take('a')];
    assert.deepEqual(await take('a'), { retryAfterMs: 200 });
    assert.equal(await take('a/tracker'), 'now');
    assert.equal(await take('b'), 'now');
    assert.deepEqual(await Promise.all(waiting), ['waited', 'waited']);
    assert.deepEqual(told, [200, 400]);
  });

  test('who goes while he waits has given his turn back', async () => {
    const turns = new Turns({ limit, clock: () => 1_000 });
    const gone = new AbortController();
    for (let count = 0; count < 2; count += 1) await turns.take('a', () => undefined, forever);
    const left = [1, 2].map(() => turns.take('a', () => undefined, gone.signal));
    assert.ok(typeof (await turns.take('a', () => undefined, forever)) === 'object');
    gone.abort();
    assert.deepEqual(await Promise.all(left), ['gone', 'gone']);
    assert.equal(await turns.take('a', () => undefined, forever), 'waited');
  });

  test('a kept bucket is another process’s, too; one that cannot be read begins anew', async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'turns-'));
    t.after(() => rm(dir, { recursive: true }));
    const start = () => new Turns({ limit, clock: () => 1_000, kept: keptBucket(dir, 'tools') });
    const take = (turns: Turns) => turns.take('tools', () => undefined, forever);
    const first = start();
    assert.deepEqual([await take(first), await take(first)], ['now', 'now']);
    assert.equal(await take(start()), 'waited');
    const file = path.join(dir, 'tools.turns');
    assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), { full_at: 1_600 });
    for (const text of ['', '{', 'null', '{"full_at":"x"}', '{"full_at":1e999}']) {
      await writeFile(file, text);
      assert.equal(await take(start()), 'now', text);
    }
  });
});
