/** The log's records as state, whatever order they are read in. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Entry, LogEvent } from '../../src/log/record.ts';
import { Ledger } from '../../src/requests/ledger.ts';
import { stateOf } from '../../src/requests/types.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const sessionId = 'serve-0123456789abcdef';

/** One entry per event, a second apart. */
function entries(...events: readonly LogEvent[]): Entry[] {
  return events.map((event, index) => ({
    seq: `f:${index + 1}`,
    record: {
      n: index + 1,
      time: new Date(start + index * 1000).toISOString(),
      prev: '',
      hash: '',
      session: null,
      ...event,
    },
  }));
}

const requested: LogEvent = {
  event: 'requested',
  id: 'req_00000001',
  digest: 'd',
  tool: 'git',
  subcommand: ['push'],
  flags: ['--force'],
  args: null,
  call: null,
  rationale: 'why',
  enables: null,
  client: 'c',
  session_id: sessionId,
};
const granted = (
  scope: 'once' | 'uses' | 'for' | 'session',
  uses: number | null,
  expires: string | null,
): LogEvent => ({
  event: 'granted',
  grant: 'grt_00000001',
  id: 'req_00000001',
  actor: 'op',
  session_id: sessionId,
  expires,
  uses,
  scope,
  why: 'why',
  rule: { tool: 'git', subcommand: 'push', flags: ['--force'] },
});
const used = (left: number): LogEvent => ({
  event: 'decided',
  call: 'f:1',
  decision: 'allow',
  reason: null,
  detail: null,
  tool: 'git',
  subcommand: ['push'],
  argv: [],
  cwd: null,
  rule: null,
  config: 'c',
  grant: 'grt_00000001',
  uses_left: left,
});
const begun: LogEvent = {
  event: 'approved',
  id: 'req_00000001',
  actor: 'op',
  scope: 'apply',
  digest: 'd',
  verdict: 'allow',
  step: 'begin',
  config: { file: '/c', before: 'b', after: 'a' },
};
const done: LogEvent = { ...begun, step: 'done' } as LogEvent;
const denied: LogEvent = { event: 'denied', id: 'req_00000001', actor: 'op', reason: 'no' };
const revoked: LogEvent = { event: 'revoked', grant: 'grt_00000001', actor: 'op', reason: null };
const up: LogEvent = {
  event: 'up',
  namespace: 'serve',
  what: 'gateway',
  pid: 1,
  facts: { session_id: sessionId, config: 'c' },
};

const stories: readonly [sentence: string, events: LogEvent[], status: string, grant: string | null][] = [
  ['a request is pending', [requested], 'pending', null],
  ['a denial denies it', [requested, denied], 'denied', null],
  ['a grant approves it, without another record', [requested, granted('once', 1, null)], 'approved', 'live'],
  ['what was begun is pending', [requested, begun], 'pending', null],
  ['what is done is approved', [requested, begun, done], 'approved', null],
  ['a request decided twice is what it was first', [requested, denied, done], 'denied', null],
  ['a use of one is the end of it', [requested, granted('once', 1, null), used(0)], 'approved', 'used up'],
  ['a use of two is not', [requested, granted('uses', 2, null), used(1)], 'approved', 'live'],
  ['revoked', [requested, granted('session', null, null), revoked], 'approved', 'revoked'],
  ['expired', [requested, granted('for', null, new Date(start + 1000).toISOString())], 'approved', 'expired'],
  [
    'of a bare gateway, until the next one',
    [requested, granted('session', null, null), up],
    'approved',
    'ended',
  ],
  ['but not what is granted for a while', [requested, granted('uses', 2, null), up], 'approved', 'live'],
];

void describe('the ledger:', () => {
  for (const [sentence, events, status, grant] of stories)
    test(sentence, () => {
      const ledger = new Ledger();
      ledger.add(entries(...events));
      const found = ledger.grants.get('grt_00000001');
      assert.equal(ledger.requests.get('req_00000001')?.status, status);
      assert.equal(found ? stateOf(found, start + 5000) : null, grant);
    });

  test('what was begun is approved where the file says that it was done', () => {
    const ledger = new Ledger();
    ledger.add(entries(requested, begun));
    ledger.settle('req_00000001');
    assert.equal(ledger.requests.get('req_00000001')?.decision?.config, 'a');
  });

  test('a decision that is read before its request counts, in pieces of any size', () => {
    const story = entries(requested, granted('uses', 3, null), used(2), used(1), revoked);
    fc.assert(
      fc.property(fc.shuffledSubarray(story, { minLength: story.length }), fc.nat(4), (mixed, cut) => {
        const ledger = new Ledger();
        ledger.add(mixed.slice(0, cut));
        ledger.add(mixed.slice(cut));
        const grant = ledger.grants.get('grt_00000001');
        assert.deepEqual([ledger.requests.get('req_00000001')?.status, grant?.used], ['approved', 2]);
        assert.equal(grant && stateOf(grant, start), 'revoked');
      }),
    );
  });
});

test('a second request of an id does not take the place of the first', () => {
  const ledger = new Ledger();
  ledger.add(entries(requested, { ...requested, flags: ['--mirror'], digest: 'e' }));
  assert.deepEqual(ledger.requests.get('req_00000001')?.flags, ['--force']);
});
