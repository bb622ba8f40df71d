/** A runtime that the harness has stopped, or whose engine hangs: it proves nothing, and nobody waits for it for ever. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runInside } from '../../src/up/inside.ts';
import type { Executing, Started } from '../../src/up/runtime/runtime.ts';

const never = new Promise<never>(() => undefined);

const odd: Readonly<Record<string, () => Promise<Executing>>> = {
  'does not begin': () => never,
  'can’t be ended': async () => ({
    exit: never,
    kill: async () => undefined,
    resize: async () => undefined,
  }),
  'whose end is refused': async () => ({
    exit: never,
    kill: async () => Promise.reject(new Error('no')),
    resize: async () => undefined,
  }),
};

describe('a command inside', { concurrency: true }, () => {
  for (const [what, exec] of Object.entries(odd))
    void test(`that ${what} is not waited for without end`, async () => {
      const started = { exec } as unknown as Started;
      await assert.rejects(runInside(started, 'probe', {}, null, 50), { code: 'runtime_failed' });
    });
});
