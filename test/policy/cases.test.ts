/** Attacks of our own on the handed policies, one sentence each; with the corpus they say what the grammar means. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { decide } from './support.ts';

type Case = {
  readonly id: string;
  readonly argv: readonly unknown[];
  readonly expected: 'allow' | 'deny';
  readonly reason?: string;
  readonly why: string;
};

const folder = new URL('cases/', import.meta.url);

for (const file of readdirSync(folder)) {
  const name = file.replace('.jsonl', '');
  const bytes = readFileSync(new URL(`../corpus/policy/${name}.yaml`, import.meta.url));
  const { policy } = parseConfig(bytes, { file: name, real: name, env: { HOME: '/home/operator' } });
  const lines = readFileSync(new URL(file, folder), 'utf8').trim().split('\n');
  void describe(name, () => {
    for (const { id, argv, expected, reason, why } of lines.map((line) => JSON.parse(line) as Case))
      test(`${id}: ${why}`, () => {
        const decision = decide(policy, argv);
        const got = decision.decision === 'deny' ? decision.reason : 'allow';
        assert.equal(got, expected === 'deny' ? reason : 'allow');
      });
  });
}
