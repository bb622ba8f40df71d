import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call, connect, textOf, world } from './support.ts';

void test('RACE-006: a call is judged and logged by the config that it began with', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const from = { file: it.config, real: it.config, env: it.env };
  const { hash } = parseConfig(fs.readFileSync(it.config), from);
  const slow = call(client, 'sleep', { args: ['1'] });
  fs.writeFileSync(it.config, fs.readFileSync(it.config, 'utf8').replaceAll("'[0-9]+'", "'[a-z]+'"));
  assert.equal(textOf(await slow), '');
  const records = fs
    .readdirSync(it.log, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => fs.readFileSync(path.join(it.log, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as { event: string; decision?: string; config?: string });
  const decided = records.filter(({ event }) => event === 'decided');
  assert.deepEqual(
    decided.map(({ decision, config }) => ({ decision, config })),
    [{ decision: 'allow', config: hash }],
  );
});
