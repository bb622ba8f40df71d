/** The gateway's side of requests: its limits, and what counts against them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog, type Log } from '../../src/log/append.ts';
import { createRequestBook, requestLimits, type Asked } from '../../src/requests/book.ts';
import { bench } from './desk-support.ts';

const asked = (flag: string): Asked => ({
  tool: 'git',
  subcommand: ['push'],
  flags: [flag],
  args: null,
  argv: null,
  call: null,
  cwd: null,
  rationale: 'why',
  enables: null,
  client: 'test/1',
});

/** A gateway that began, with that many pending requests of its session. */
function session(log: Log, id: string, pid: number, pending: number): void {
  const facts = { session_id: id, config: 'c' };
  log.append({ event: 'up', namespace: id, what: 'gateway', pid, facts });
  for (let count = 0; count < pending; count++)
    log.append({
      event: 'requested',
      id: `req_${id.slice(-4)}${String(count).padStart(4, '0')}`,
      digest: `${id}${count}`,
      tool: 'git',
      subcommand: [],
      flags: [],
      args: null,
      call: null,
      rationale: 'why',
      enables: null,
      client: 'test/1',
      session_id: id,
      argv: null,
      cwd: null,
    });
}

for (const [sentence, lives, refused] of [
  ['what living sessions have pending counts against all', true, true],
  ['what sessions left behind that have ended keeps no other from asking', false, false],
] as const)
  test(sentence, async (t) => {
    const at = bench(t);
    const log = await openLog(at.log);
    const perSession = requestLimits.pendingPerSession;
    for (let count = 0; count * perSession < requestLimits.pendingInAll; count++) {
      const id = `other-${String(1000 + count)}`;
      session(log, id, process.pid, perSession);
      if (!lives)
        log.append({ event: 'down', namespace: id, what: 'gateway', pid: process.pid, cause: 'ended' });
    }
    session(log, 'mine-0001', process.pid, 0);
    const book = createRequestBook({
      log,
      sessionId: 'mine-0001',
      configFile: at.config,
      onRequest: () => undefined,
      fault: assert.fail,
    });
    t.after(() => {
      book.close();
      log.close();
    });
    const answer = await book.ask(asked('--force'));
    assert.equal(typeof answer === 'string', refused, JSON.stringify(answer));
  });
