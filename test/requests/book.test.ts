/** The gateway's side of requests: its limits, and what counts against them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createRefusedCalls } from '../../src/gateway/refused.ts';
import { openLog, type Log } from '../../src/log/append.ts';
import { readLog } from '../../src/log/read.ts';
import type { LogRecord } from '../../src/log/record.ts';
import { createRequestBook, requestLimits, type Asked } from '../../src/requests/book.ts';
import { main } from '../gateway/support.ts';
import { until } from '../support/until.ts';
import { bench, deskOf, put } from './desk-support.ts';
import { command } from './support.ts';

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
      fault: assert.ifError,
    });
    t.after(() => {
      book.close();
      log.close();
    });
    const answer = await book.ask(asked('--force'));
    assert.equal(typeof answer === 'string', refused, JSON.stringify(answer));
  });

test('a clock that is put back gives a grant no more time', async (t) => {
  const at = bench(t);
  const log = await openLog(at.log);
  session(log, 'mine-0001', process.pid, 1);
  const real = Date.now;
  log.append({
    event: 'granted',
    grant: 'grt_00000001',
    id: 'req_00010000',
    actor: 'op',
    session_id: 'mine-0001',
    expires: new Date(real() + 1_000).toISOString(),
    uses: null,
    scope: 'for',
    rule: { tool: 'git', subcommand: 'push', flags: ['--force'] },
  });
  const book = createRequestBook({
    log,
    sessionId: 'mine-0001',
    configFile: at.config,
    onRequest: () => undefined,
    fault: assert.ifError,
  });
  t.after(() => {
    book.close();
    log.close();
  });
  await book.refresh();
  assert.equal(book.grants().length, 1);
  t.mock.method(Date, 'now', () => real() - 3_600_000);
  assert.equal(book.grants().length, 1);
  await until('it has ended', () => book.grants().length === 0);
});

test('a refused call that the log has scrubbed is not what a rule can be exact for', async (t) => {
  const at = bench(t);
  const log = await openLog(at.log);
  const refused = (call: string, argv: string[]) =>
    log.append({
      event: 'decided',
      call,
      decision: 'deny',
      reason: 'flag_not_allowed',
      detail: null,
      tool: 'git',
      subcommand: ['push'],
      argv,
      cwd: null,
      rule: null,
      config: 'x',
    });
  refused(`${log.file}:7`, ['push', '--token=[redacted:TOKEN]']);
  refused(`${log.file}:8`, ['push', '--force']);
  log.close();
  const find = (n: number) => createRefusedCalls(at.log, null).find(`${log.file}:${n}`);
  assert.equal(await find(7), null);
  assert.deepEqual((await find(8))?.argv, ['push', '--force']);
});

test('follow and tail -f wait for a log that is not there yet; a folder that is named must be', async (t) => {
  const at = bench(t);
  for (const args of [
    ['requests', 'follow', '--json'],
    ['log', 'tail', '-f', '--json'],
  ]) {
    const env = { PATH: '/usr/bin:/bin', HOME: at.dir, WRAPTOOL_CONFIG: at.config };
    const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += String(chunk)));
    await until('the folder is there', () => existsSync(at.log));
    assert.equal(statSync(at.log).mode & 0o777, 0o700);
    await put(at, { id: 'req_00000001' });
    await until('it is shown', () => said.includes('req_00000001'));
    rmSync(at.log, { recursive: true });
  }
  for (const name of ['verify', 'tail', 'unused']) {
    const { code, stderr } = await command(at, ['log', name, '--dir', `${at.dir}/typo`]);
    assert.equal(code, 2, name);
    assert.match(stderr, /there is no folder ".*typo"/);
  }
});

test('an approval by a grant is in the log as one, with the digest of what was shown', async (t) => {
  const at = bench(t);
  await put(at, { id: 'req_00000001' });
  const desk = deskOf(at);
  const { digest } = await desk.review(await desk.request('req_00000001'), false);
  await desk.approve('req_00000001', { choice: { scope: 'once' }, wide: false, shown: digest });
  const kept: LogRecord[] = [];
  for await (const { record } of readLog(at.log)) kept.push(record);
  assert.deepEqual(
    kept.map(({ event }) => event),
    ['requested', 'granted', 'approved'],
  );
  const [, granted, approved] = kept;
  assert.ok(granted?.event === 'granted' && approved?.event === 'approved');
  assert.deepEqual([approved.scope, approved.digest, approved.verdict], ['once', digest, 'allow']);
  assert.equal((await desk.request('req_00000001')).decision?.grant, granted.grant);
});

test('a past of calls that take long to judge keeps no operator waiting', async (t) => {
  const at = bench(t);
  const slow = "{ pattern: '[a-z]*[a-z]*[a-z]*[0-9]' }";
  writeFileSync(at.config, readFileSync(at.config, 'utf8').replace("{ pattern: '[a-z]+' }", slow));
  const log = await openLog(at.log);
  for (let count = 0; count < 1_800; count++)
    log.append({
      event: 'decided',
      call: 'a:1',
      decision: 'deny',
      reason: 'arg_not_allowed',
      detail: null,
      tool: 'git',
      subcommand: ['push'],
      argv: [
        'push',
        'origin',
        `${'a'.repeat(4_000)}${count.toString(36).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '')}.`,
      ],
      cwd: null,
      rule: null,
      config: 'x',
    });
  log.close();
  await put(at, { id: 'req_00000001' });
  const desk = deskOf(at);
  const request = await desk.request('req_00000001');
  const before = performance.now();
  const { past } = await desk.review(request, false);
  t.diagnostic(`${past.looked} calls in ${Math.round(performance.now() - before)} ms`);
  assert.ok(past.looked > 0);
  assert.ok(performance.now() - before < 2_500);
});
