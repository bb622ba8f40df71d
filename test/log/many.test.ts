/** The log of many processes, killed at any moment; its files when they are full; its index when it is large. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openLog } from '../../src/log/append.ts';
import { genesis, sealRecord } from '../../src/log/chain.ts';
import { logFiles, pathOf } from '../../src/log/files.ts';
import { followKeys } from '../../src/log/keys.ts';
import { followNew, readLog, story, verifyLog } from '../../src/log/read.ts';
import { isKey, type LogEvent } from '../../src/log/record.ts';
import { tailLog } from '../../src/log/tail.ts';
import { main } from '../support/main.ts';

const child = fileURLToPath(new URL('writer-child.ts', import.meta.url));

function folder(t: { after(fn: () => void): void }): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-log-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return path.join(dir, 'log');
}

const received: LogEvent = {
  event: 'received',
  name: 'git_status',
  tool: 'git',
  argv: ['status', '--short'],
  client: 'test/1',
  mcp_session: null,
  key: null,
};
const denied = (id: string): LogEvent => ({ event: 'denied', id, actor: 'op', reason: 'no' });
const requested = (id: string): LogEvent => ({
  event: 'requested',
  id,
  digest: 'd',
  tool: 'git',
  subcommand: ['push'],
  flags: ['--force'],
  args: null,
  call: null,
  rationale: 'why',
  enables: null,
  client: 'test/1',
  session_id: 'serve-0',
});

async function all(dir: string): Promise<string[]> {
  const seqs: string[] = [];
  for await (const { seq } of readLog(dir)) seqs.push(seq);
  return seqs;
}

test('16 processes write and are killed: every line whole or torn, nothing acknowledged lost, every chain holds', async (t) => {
  const dir = folder(t);
  const writers = Array.from({ length: 16 }, (_, number) => {
    const writer = spawn(process.execPath, [child, dir, String(number)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => writer.kill('SIGKILL'));
    let said = '';
    writer.stdout.on('data', (text: Buffer) => (said += String(text)));
    return { writer, said: () => said };
  });
  for (const [number, { writer, said }] of writers.entries()) {
    // Each is killed in the middle of its work, after another amount of it.
    while (said().split('\n').length < 40 + number * 9) await once(writer.stdout, 'data');
    writer.kill('SIGKILL');
  }
  await Promise.all(
    writers.map(async ({ writer }) => writer.exitCode ?? writer.signalCode ?? once(writer, 'close')),
  );
  await Promise.all(
    writers.map(async ({ writer }) => writer.stdout.readableEnded || once(writer.stdout, 'end')),
  );
  const acknowledged = writers.flatMap(({ said }) => said().split('\n').slice(0, -1));
  assert.ok(acknowledged.length > 16 * 40);
  const read = new Set(await all(dir));
  assert.deepEqual(
    acknowledged.filter((seq) => !read.has(seq)),
    [],
  );
  assert.deepEqual(
    (await verifyLog(dir)).flatMap(({ problems }) => problems),
    [],
  );
  const records = [];
  for await (const entry of readLog(dir)) records.push(entry);
  const keys = await followKeys(dir).poll();
  assert.deepEqual(
    keys.map(({ seq }) => seq).toSorted(),
    records
      .filter(({ record }) => isKey(record))
      .map(({ seq }) => seq)
      .toSorted(),
  );
  assert.deepEqual(
    (await tailLog(dir, 50)).map(({ seq }) => seq),
    records.slice(-50).map(({ seq }) => seq),
  );
});

test('a file that is full is followed by one that vouches for it, and a call’s story goes on there', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir, { session: null, fullBytes: 2_000 });
  const call = log.append(received);
  for (let count = 0; count < 20; count += 1) log.append(denied(`req_0000000${count % 10}`));
  const end = log.append({
    event: 'finished',
    call,
    outcome: 'exited',
    exit_code: 0,
    signal: null,
    timed_out: false,
    cancelled: false,
    truncated: false,
    duration_ms: 1,
    output_chars: 0,
    detail: null,
  });
  log.close();
  const files = await logFiles(dir);
  assert.ok(files.length > 2);
  assert.deepEqual(
    (await story(dir, call))?.map(({ seq }) => seq),
    [call, end],
  );
  assert.deepEqual(
    (await story(dir, end))?.map(({ seq }) => seq),
    [call, end],
  );
  assert.deepEqual(
    (await verifyLog(dir)).flatMap(({ problems }) => problems),
    [],
  );
  fs.rmSync(pathOf(dir, files[1] ?? ''));
  assert.match((await verifyLog(dir)).flatMap(({ problems }) => problems)[0]?.problem ?? '', /is missing/);
});

test('key records are found one by one, also in a file that is being written and has a torn end', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  const follower = followKeys(dir);
  const poll = async () => (await follower.poll()).map(({ seq }) => seq);
  assert.deepEqual(await poll(), []);
  log.append(received);
  const first = log.append(denied('req_00000001'));
  log.append(received);
  assert.deepEqual(await poll(), [first]);
  log.append(received);
  assert.deepEqual(await poll(), []);
  const more = [log.append(denied('req_00000002')), log.append(denied('req_00000003'))];
  fs.appendFileSync(pathOf(dir, log.file), '{"n":7,"time":"20');
  assert.deepEqual(await poll(), more);
  assert.deepEqual(
    (await followKeys(dir).poll()).map(({ seq }) => seq),
    [first, ...more],
  );
});

test('a follower from now on has nothing of before', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  log.append(received);
  const follower = await followNew(dir);
  const next = log.append(received);
  assert.deepEqual(
    (await follower.poll()).map(({ seq }) => seq),
    [next],
  );
});

test('a log without links to its key records is read through', async (t) => {
  const dir = folder(t);
  fs.mkdirSync(dir, { mode: 0o700 });
  const file = '20250101T000000000-1-abcdef';
  let prev = genesis(file);
  const lines = [received, denied('req_00000001'), received].map((event, index) => {
    const sealed = sealRecord({
      n: index + 1,
      time: new Date().toISOString(),
      prev,
      session: null,
      ...event,
    });
    prev = sealed.hash;
    return sealed.line;
  });
  fs.writeFileSync(pathOf(dir, file), `${lines.join('\n')}\n`);
  assert.deepEqual(
    (await followKeys(dir).poll()).map(({ seq }) => seq),
    [`${file}:2`],
  );
  assert.deepEqual(
    (await verifyLog(dir)).flatMap(({ problems }) => problems),
    [],
  );
});

test('verify finds a link that leads past a decision', async (t) => {
  const dir = folder(t);
  fs.mkdirSync(dir, { mode: 0o700 });
  const file = '20250101T000000000-1-abcdef';
  let prev = genesis(file);
  const lines = [denied('req_00000001'), received].map((event, index) => {
    const sealed = sealRecord({
      n: index + 1,
      time: new Date().toISOString(),
      prev,
      session: null,
      back: null,
      ...event,
    });
    prev = sealed.hash;
    return sealed.line;
  });
  fs.writeFileSync(pathOf(dir, file), `${lines.join('\n')}\n`);
  assert.match(
    (await verifyLog(dir)).flatMap(({ problems }) => problems)[0]?.problem ?? '',
    /leads elsewhere/,
  );
});

test('with a million events in the log, requests and its tail are there within a second', async (t) => {
  const dir = folder(t);
  const config = path.join(path.dirname(dir), 'config.yaml');
  fs.writeFileSync(config, `version: 1\nrequests: { log: ${dir} }\n`, { mode: 0o600 });
  const perFile = 1_000_000 / 16;
  for (let number = 0; number < 16; number += 1) write(dir, number, perFile);
  const timed = (...args: string[]) => {
    const began = performance.now();
    const done = spawnSync(process.execPath, [main, ...args], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: path.dirname(dir) },
    });
    assert.equal(done.status, 0, done.stderr);
    return { ms: performance.now() - began, stdout: done.stdout };
  };
  timed('--version');
  const best = (run: () => { ms: number; stdout: string }) =>
    [run(), run(), run()].toSorted((a, b) => a.ms - b.ms)[0] as { ms: number; stdout: string };
  const start = best(() => timed('requests', '--help')).ms;
  const list = best(() => timed('requests', 'list', '--config', config, '--json'));
  const tail = best(() => timed('log', 'tail', '--config', config));
  t.diagnostic(
    `start ${Math.round(start)} ms, requests list ${Math.round(list.ms)} ms, log tail ${Math.round(tail.ms)} ms`,
  );
  assert.equal((JSON.parse(list.stdout) as unknown[]).length, 16);
  assert.equal(tail.stdout.trim().split('\n').length, 20);
  // On a busy machine the start alone may take that long.
  for (const [what, { ms }] of Object.entries({ 'requests list': list, 'log tail': tail }))
    assert.ok(
      Math.min(ms, ms - start + 500) < 1_000,
      `${what} took ${ms} ms, of which ${start} ms are its start`,
    );
});

/** As the writer does it, but in large pieces; the request is the first record, as far away as can be. */
function write(dir: string, number: number, records: number): void {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = `20250101T0000000${String(number).padStart(2, '0')}-1-abcdef`;
  const fd = fs.openSync(pathOf(dir, file), 'w', 0o600);
  const time = new Date().toISOString();
  let prev = genesis(file);
  let piece: string[] = [];
  for (let n = 1; n <= records; n += 1) {
    const event = n === 1 ? requested(`req_${String(number).padStart(8, '0')}`) : received;
    const { line, hash } = sealRecord({ n, time, prev, session: null, back: n === 1 ? null : 0, ...event });
    prev = hash;
    piece.push(line);
    if (piece.length < 5_000 && n < records) continue;
    fs.writeSync(fd, `${piece.join('\n')}\n`);
    piece = [];
  }
  fs.closeSync(fd);
}
