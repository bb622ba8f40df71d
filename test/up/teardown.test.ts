import assert from 'node:assert/strict';
import test from 'node:test';
import { Teardown } from '../../src/up/teardown.ts';

void test('releases run in reverse order, each once, and a failing one is reported and stops nobody', async () => {
  const seen: string[] = [];
  const teardown = new Teardown((what, error) => seen.push(`${what}: ${(error as Error).message}`));
  teardown.push('first', async () => void seen.push('first'));
  teardown.push('second', async () => Promise.reject(new Error('stuck')));
  teardown.push('third', async () => void seen.push('third'));
  await Promise.all([teardown.run(), teardown.run()]);
  assert.deepEqual(seen, ['third', 'second: stuck', 'first']);
});
