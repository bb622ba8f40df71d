import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Caller, ToolResult } from '../../src/gateway/core.ts';
import { createRepeats } from '../../src/gateway/repeat.ts';
import { openLog } from '../../src/log/append.ts';

const caller = (key: string, attempt: number): Caller => ({
  query: '',
  peerCwd: async () => null,
  client: 'x/1',
  mcpSession: null,
  repeat: { key, attempt },
});
const text = (value: string): ToolResult => ({ content: [{ type: 'text', text: value }], isError: false });
const said = ({ content }: ToolResult) => content[0]?.['text'] as string | undefined;

function logDir(t: TestContext): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-repeat-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** What a gateway that died left behind: how far the call with this key had come. */
async function past(
  dir: string,
  key: string,
  reached: 'received' | 'denied' | 'decided' | 'finished',
): Promise<void> {
  const log = await openLog(dir);
  const call = log.append({
    event: 'received',
    name: 'x',
    tool: 'x',
    argv: [],
    client: 'x/1',
    mcp_session: null,
    key,
  });
  if (reached !== 'received')
    log.append({
      event: 'decided',
      call,
      decision: reached === 'denied' ? 'deny' : 'allow',
      reason: null,
      detail: null,
      tool: 'x',
      subcommand: [],
      argv: [],
      cwd: null,
      rule: null,
      config: '',
    });
  if (reached === 'finished')
    log.append({
      event: 'finished',
      call,
      outcome: 'exited',
      exit_code: 3,
      signal: null,
      timed_out: false,
      cancelled: false,
      truncated: false,
      duration_ms: 1,
      output_chars: 0,
      detail: null,
    });
  log.close();
}

for (const [reached, answer] of [
  ['received', 'ran now'],
  ['denied', 'ran now'],
  [
    'decided',
    'the gateway was restarted while this call ran: whether it ended is unknown, and it was not run again',
  ],
  ['finished', 'this call has ended with exit code 3: its output is lost, and it was not run again'],
] as const) {
  test(`a second attempt at a call that a dead gateway had ${reached}`, async (t) => {
    const dir = logDir(t);
    await past(dir, 'the-key-1', reached);
    const repeats = createRepeats(dir);
    const result = await repeats.once(caller('the-key-1', 2), 'x', {}, async () => text('ran now'));
    assert.equal(said(result), answer);
  });
}

test('attempts at a call that runs join it, and later ones get its answer', async (t) => {
  const repeats = createRepeats(logDir(t));
  let runs = 0;
  const gate = Promise.withResolvers<ToolResult>();
  const work = () => {
    runs += 1;
    return gate.promise;
  };
  const first = repeats.once(caller('the-key-1', 1), 'x', { a: 1 }, work);
  const second = repeats.once(caller('the-key-1', 2), 'x', { a: 1 }, work);
  gate.resolve(text('once'));
  const third = repeats.once(caller('the-key-1', 3), 'x', { a: 1 }, work);
  assert.deepEqual((await Promise.all([first, second, third])).map(said), ['once', 'once', 'once']);
  assert.equal(runs, 1);
});

test('a key that belongs to another call runs nothing', async (t) => {
  const repeats = createRepeats(logDir(t));
  await repeats.once(caller('the-key-1', 1), 'x', { a: 1 }, async () => text('first'));
  const other = await repeats.once(caller('the-key-1', 1), 'x', { a: 2 }, async () => text('second'));
  assert.equal(said(other), 'the idempotency key of this call belongs to another call: nothing was run');
});

test('answers that were let go for their size are not run again', async (t) => {
  const repeats = createRepeats(logDir(t));
  const large = async () => text('x'.repeat(3 * 1024 * 1024));
  for (const key of ['the-key-1', 'the-key-2', 'the-key-3', 'the-key-4'])
    await repeats.once(caller(key, 1), 'x', {}, large);
  const again = await repeats.once(caller('the-key-1', 2), 'x', {}, large);
  assert.equal(said(again), 'this call has ended: its output is lost, and it was not run again');
  const kept = await repeats.once(caller('the-key-4', 2), 'x', {}, async () => text('again'));
  assert.equal(said(kept)?.length, 3 * 1024 * 1024);
});
