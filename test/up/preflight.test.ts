/** What becomes of the findings of the checks inside. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { approvedCredential, assertNoFault, type Finding } from '../../src/up/preflight.ts';

const finding = (check: string, level: Finding['level']): Finding => ({
  check,
  level,
  detail: 'something is wrong',
  mend: 'mend it',
});

test('a fault keeps the harness from starting, one line each with its mend; nothing else does', () => {
  assertNoFault([finding('dns', 'note'), finding('git', 'warning')]);
  assert.throws(
    () =>
      assertNoFault([finding('git', 'warning'), finding('gateway', 'fault'), finding('workspace', 'fault')]),
    {
      code: 'preflight_failed',
      problems: ['gateway: something is wrong (mend it)', 'workspace: something is wrong (mend it)'],
    },
  );
});

test('with an approved definition a credential is a warning, any other fault stays one', () => {
  assert.equal(approvedCredential(finding('credentials', 'fault')).level, 'warning');
  assert.equal(approvedCredential(finding('gateway', 'fault')).level, 'fault');
  assert.equal(approvedCredential(finding('credentials', 'note')).level, 'note');
});
