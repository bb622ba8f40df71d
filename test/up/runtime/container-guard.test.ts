/** What is told of a guard that breaks, and that it is told at once: the container's start may have failed meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PassThrough } from 'node:stream';
import { postGuard } from '../../../src/up/runtime/container-guard.ts';
import type { EngineExec } from '../../../src/up/runtime/docker.ts';
import { until } from '../../support/until.ts';

const gone = new Error('it ended');
for (const [what, end, why] of [
  ['its end', async () => 137, undefined],
  ['the end of the container, which is nobody else’s to hear', () => Promise.reject(gone), gone],
] as const)
  test(`a guard tells of ${what}`, async () => {
    const told: unknown[] = [];
    const exec = { id: 'x', stream: new PassThrough() } as unknown as EngineExec;
    const users = { harness: '1000:1000', keeper: '999:999' };
    await postGuard({ open: async () => exec, end }, users, (reason) => told.push(reason));
    await until('it is told', () => told.length > 0);
    assert.deepEqual(told, [why]);
  });
