/** What calls leave in the log: bounded where they are refused, whole where they run. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { test } from 'node:test';
import { call, connect, textOf, world } from './support.ts';
import { records } from './records.ts';

const sha256 = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
const sizeOf = (dir: string) =>
  fs.readdirSync(dir).reduce((sum, name) => sum + fs.statSync(`${dir}/${name}`).size, 0);

test('a refused call leaves the beginning of its argv, how much there was, and the digest of the whole', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const argv = Array.from({ length: 8 }, (_, index) => `${index}`.repeat(30_000));
  const before = sizeOf(it.log);
  const times = 20;
  for (let index = 0; index < times; index += 1)
    assert.equal(
      (await call(client, 'wraptool_run', { tool: 'seq', argv: ['--no', ...argv] })).isError,
      true,
    );
  const each = (sizeOf(it.log) - before) / times;
  t.diagnostic(`${Math.round(each)} bytes for a refused call of 240 kB`);
  assert.ok(each < 12_000, `${each} bytes each`);
  const kept = (await records(it.log)).filter(({ event }) => event === 'received' || event === 'decided');
  assert.equal(kept.length, 2 * times);
  for (const record of kept) {
    assert.ok(record.event === 'received' || record.event === 'decided');
    assert.deepEqual(record.argv_cut, { words: 9, chars: 240_004, sha256: sha256(['--no', ...argv]) });
    assert.equal(record.argv?.[0], '--no');
    assert.equal(record.argv?.[1], '0'.repeat(4_092));
  }
});

test('a subcommand that there is none of is kept by its beginning', async (t) => {
  const it = world(t, (text) =>
    text.replace(
      '  nothing:\n',
      '  sub: { binary: /usr/bin/true, guard: none, allow: [{ subcommand: a }] }\n  nothing:\n',
    ),
  );
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const before = sizeOf(it.log);
  const argv = ['\u0001'.repeat(30_000)];
  assert.equal((await call(client, 'wraptool_run', { tool: 'sub', argv })).isError, true);
  // Six bytes for each such character in JSON: 4,096 of them in two records, and no more than 256 beside.
  assert.ok(sizeOf(it.log) - before < 56_000, `${sizeOf(it.log) - before} bytes`);
});

test('a call that runs is in the log whole', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const args = ['a'.repeat(20_000), 'b'.repeat(20_000)];
  const ran = await call(client, 'echo', { args });
  assert.equal(ran.isError, false, textOf(ran).slice(0, 200));
  const decided = (await records(it.log)).find(({ event }) => event === 'decided');
  assert.ok(decided?.event === 'decided');
  assert.deepEqual(decided.argv, args);
  assert.equal(decided.argv_cut, undefined);
});

test('a request for a call that was too long to keep is for what it names, with the values open', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const denial = await call(client, 'wraptool_run', {
    tool: 'seq',
    argv: ['--format=%g', 'x'.repeat(9_000)],
  });
  const request = denial.structuredContent?.['request'] as Record<string, unknown>;
  const asked = await call(client, 'wraptool_request_capability', { ...request, rationale: 'why' });
  assert.equal(asked.isError, false, textOf(asked));
  const requested = (await records(it.log)).find(({ event }) => event === 'requested');
  assert.ok(requested?.event === 'requested');
  assert.deepEqual([requested.argv, requested.call, requested.flags], [null, request['seq'], ['--format']]);
});
