/** `wraptool harness show`, and `list`, as data for programs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { place } from '../e2e/place.ts';

for (const args of [
  ['show', 'claude'],
  ['show', 'claude', '--json'],
  ['list', '--json'],
])
  test(`harness ${args.join(' ')} prints JSON`, async (t) => {
    const { code, stdout, stderr } = await (await place(t)).wraptool(['harness', ...args]);
    assert.equal(code, 0, stderr);
    assert.match(JSON.stringify(JSON.parse(stdout)), /"name":"claude"/);
  });

test('harness show of what is not there, with --json, is an error as JSON', async (t) => {
  const { code, stdout } = await (await place(t)).wraptool(['harness', 'show', 'nosuch', '--json']);
  assert.equal(code, 2);
  assert.equal((JSON.parse(stdout) as { error: { code: string } }).error.code, 'harness_unknown');
});
