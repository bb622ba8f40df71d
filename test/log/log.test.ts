import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { openLog } from '../../src/log/append.ts';
import { genesis, sealRecord } from '../../src/log/chain.ts';
import { logFiles } from '../../src/log/files.ts';
import { followLog, readLog, story, verifyLog } from '../../src/log/read.ts';
import type { Entry, LogEvent } from '../../src/log/record.ts';

function folder(t: { after(fn: () => void): void }): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-log-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return path.join(dir, 'log');
}

const received = (name: string): LogEvent => ({
  event: 'received',
  name,
  tool: null,
  argv: ['status'],
  client: 'test/1',
  mcp_session: null,
  key: null,
});
const decided = (call: string): LogEvent => ({
  event: 'decided',
  call,
  decision: 'allow',
  reason: null,
  detail: null,
  tool: 'git',
  subcommand: ['status'],
  argv: ['status'],
  cwd: '/',
  rule: { file: 'c.yaml', line: 3, effect: 'allow' },
  config: 'abc',
});

async function all(dir: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of readLog(dir)) entries.push(entry);
  return entries;
}

const fileOf = (dir: string, file: string) => path.join(dir, `${file}.jsonl`);

test('the folder is 0700, the file 0600, and seq is <file>:<n>', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  assert.equal(log.append(received('a')), `${log.file}:1`);
  assert.equal(log.append(received('b')), `${log.file}:2`);
  log.close();
  assert.equal(fs.statSync(dir).mode & 0o777, 0o700);
  assert.equal(fs.statSync(fileOf(dir, log.file)).mode & 0o777, 0o600);
});

test('what was written is read back whole, and verifies', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir, { session: 'calm-otter' });
  const call = log.append(received('git_status'));
  log.append(decided(call));
  log.close();
  const entries = await all(dir);
  assert.deepEqual(
    entries.map(({ seq, record }) => ({ seq, n: record.n, event: record.event, session: record.session })),
    [
      { seq: call, n: 1, event: 'received', session: 'calm-otter' },
      { seq: `${log.file}:2`, n: 2, event: 'decided', session: 'calm-otter' },
    ],
  );
  const [report] = await verifyLog(dir);
  assert.deepEqual(
    { ...report, head: '' },
    { file: log.file, records: 2, torn: false, head: '', problems: [] },
  );
  assert.deepEqual(
    (await story(dir, `${log.file}:2`))?.map(({ seq }) => seq),
    [call, `${log.file}:2`],
  );
  assert.equal(await story(dir, '../../etc/passwd:1'), null);
});

test('a closed log refuses', async (t) => {
  const log = await openLog(folder(t));
  log.close();
  log.close();
  assert.throws(() => log.append(received('a')), { code: 'log_unavailable' });
});

test('a record too large for a line is refused and the chain goes on', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  log.append(received('a'));
  assert.throws(() => log.append(received('x'.repeat(2 * 1024 * 1024))), { code: 'log_unavailable' });
  log.append(received('b'));
  log.close();
  assert.deepEqual(
    (await verifyLog(dir)).map(({ records, problems }) => ({ records, problems })),
    [{ records: 2, problems: [] }],
  );
});

test('a folder that others can write and a file in its place are log_unavailable', async (t) => {
  const dir = folder(t);
  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o777);
  await assert.rejects(openLog(dir), { code: 'log_unavailable' });
  fs.rmdirSync(dir);
  fs.writeFileSync(dir, '');
  await assert.rejects(openLog(dir), { code: 'log_unavailable' });
});

test('a full disk leaves no half record behind', async (t) => {
  // RLIMIT_FSIZE makes the kernel cut one write short, as a full disk does.
  const dir = folder(t);
  const program = `
    process.on('SIGXFSZ', () => {});
    const { openLog } = await import(${JSON.stringify(path.resolve('src/log/append.ts'))});
    const log = await openLog(${JSON.stringify(dir)});
    let refused = 0;
    const event = (name) => ({ event: 'received', name, tool: null, argv: null, client: '', mcp_session: null, key: null });
    for (let i = 0; i < 20; i += 1) {
      try { log.append(event('x'.repeat(300))); } catch (error) { if (error.code !== 'log_unavailable') throw error; refused += 1; }
    }
    console.log(refused);`;
  const file = path.join(path.dirname(dir), 'full.mjs');
  fs.writeFileSync(file, program);
  const child = spawn('prlimit', ['--fsize=3000', process.execPath, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  await once(child, 'exit');
  assert.ok(Number(output.toString()) > 5, output.toString());
  const [report] = await verifyLog(dir);
  assert.deepEqual(report?.problems, []);
  assert.equal(report?.torn, false);
});

const tampered: readonly [
  name: string,
  change: (lines: string[]) => string[],
  line: number,
  problem: RegExp,
][] = [
  ['a changed value', (l) => l.with(1, (l[1] as string).replace('git_b', 'git_x')), 2, /was changed/],
  ['a removed record', (l) => l.toSpliced(1, 1), 2, /chain is broken/],
  ['two records exchanged', (l) => [l[0], l[2], l[1], l[3]] as string[], 2, /chain is broken/],
  ['a record written twice', (l) => [l[0], l[0], ...l.slice(1)] as string[], 2, /chain is broken/],
  ['a removed first record', (l) => l.slice(1), 1, /chain is broken/],
  ['a line that is no record', (l) => l.with(2, '{}'), 3, /not a sealed record/],
  ['an empty line', (l) => l.with(2, ''), 3, /not a sealed record/],
  [
    'a record sealed anew with a number of its own',
    (l) => [sealRecord({ ...JSON.parse(l[0] as string), hash: undefined, n: 7 }).line, ...l.slice(1)],
    1,
    /numbered 7 and should be 1/,
  ],
];

for (const [name, change, line, problem] of tampered) {
  test(`verify finds ${name}`, async (t) => {
    const dir = folder(t);
    const log = await openLog(dir);
    for (const tool of ['git_a', 'git_b', 'git_c', 'git_d']) log.append(received(tool));
    log.close();
    const at = fileOf(dir, log.file);
    const lines = fs.readFileSync(at, 'utf8').trimEnd().split('\n');
    fs.writeFileSync(at, `${change(lines).join('\n')}\n`);
    const [report] = await verifyLog(dir);
    assert.equal(report?.problems.length, 1);
    assert.equal(report?.problems[0]?.line, line);
    assert.match(report?.problems[0]?.problem ?? '', problem);
  });
}

test('verify finds a renamed file', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  log.append(received('a'));
  log.close();
  const other = log.file.replace(/^\d{4}/, '2001');
  fs.renameSync(fileOf(dir, log.file), fileOf(dir, other));
  assert.match((await verifyLog(dir))[0]?.problems[0]?.problem ?? '', /chain is broken/);
  assert.notEqual(genesis(other), genesis(log.file));
});

test('a torn last line is survived and said', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  log.append(received('a'));
  log.append(received('b'));
  log.close();
  const at = fileOf(dir, log.file);
  fs.truncateSync(at, fs.statSync(at).size - 10);
  assert.deepEqual(
    (await all(dir)).map(({ record }) => record.n),
    [1],
  );
  const [report] = await verifyLog(dir);
  assert.deepEqual([report?.records, report?.torn, report?.problems], [1, true, []]);
});

test('files of several writers are merged by time', async (t) => {
  const dir = folder(t);
  const logs = [await openLog(dir), await openLog(dir), await openLog(dir)];
  const order: string[] = [];
  for (let i = 0; i < 30; i += 1) {
    const until = Date.now();
    while (Date.now() === until);
    order.push((logs[i % 3] as (typeof logs)[0]).append(received(`t${i}`)));
  }
  for (const log of logs) log.close();
  assert.deepEqual(
    (await all(dir)).map(({ seq }) => seq),
    order,
  );
  assert.equal((await logFiles(dir)).length, 3);
});

test('a follower gives each entry once, also one that was half written at the last poll', async (t) => {
  const dir = folder(t);
  const follower = followLog(dir);
  assert.deepEqual(await follower.poll(), []);
  const log = await openLog(dir);
  log.append(received('a'));
  assert.equal((await follower.poll()).length, 1);
  assert.equal((await follower.poll()).length, 0);
  const at = fileOf(dir, log.file);
  log.append(received('b'));
  const whole = fs.readFileSync(at);
  fs.truncateSync(at, whole.length - 5);
  assert.equal((await follower.poll()).length, 0);
  fs.writeFileSync(at, whole);
  assert.deepEqual(
    (await follower.poll()).map(({ record }) => record.n),
    [2],
  );
  log.close();
});

test('a follower of some events is not misled by an argument that spells one', async (t) => {
  const dir = folder(t);
  const follower = followLog(dir, ['requested']);
  const log = await openLog(dir);
  log.append(received('"event":"requested"'));
  log.close();
  assert.deepEqual(await follower.poll(), []);
});

async function three(dir: string): Promise<string[]> {
  const files: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const log = await openLog(dir);
    log.append(received('a'));
    log.append(received('b'));
    log.close();
    files.push(log.file);
  }
  return files;
}

const problemsOf = async (dir: string) =>
  (await verifyLog(dir)).flatMap(({ problems }) => problems.map(({ problem }) => problem));

test('verify finds records cut off the end of a file that a later one followed', async (t) => {
  const dir = folder(t);
  const [first = ''] = await three(dir);
  const text = fs.readFileSync(fileOf(dir, first), 'utf8');
  fs.writeFileSync(fileOf(dir, first), `${text.split('\n')[0]}\n`);
  assert.deepEqual(await problemsOf(dir), [
    'the file was cut short: it had 2 records when a later file began',
  ]);
});

test('verify finds a file rewritten whole', async (t) => {
  const dir = folder(t);
  const [first = ''] = await three(dir);
  const sealed = sealRecord({
    n: 1,
    time: new Date().toISOString(),
    prev: genesis(first),
    session: null,
    ...received('x'),
  });
  const second = sealRecord({
    n: 2,
    time: new Date().toISOString(),
    prev: sealed.hash,
    session: null,
    ...received('y'),
  });
  fs.writeFileSync(fileOf(dir, first), `${sealed.line}\n${second.line}\n`);
  assert.deepEqual(await problemsOf(dir), ['the record is another than the one that a later file names']);
});

test('verify finds a file missing in the middle, and takes pruning from the front as it is', async (t) => {
  const dir = folder(t);
  const [first = '', second = ''] = await three(dir);
  fs.renameSync(fileOf(dir, second), path.join(dir, 'aside'));
  assert.deepEqual(await problemsOf(dir), [`the file '${second}.jsonl' that it follows is missing`]);
  fs.renameSync(path.join(dir, 'aside'), fileOf(dir, second));
  fs.rmSync(fileOf(dir, first));
  assert.deepEqual(await problemsOf(dir), []);
});

test('verify finds bytes that only read as what stood there', async (t) => {
  const dir = folder(t);
  const log = await openLog(dir);
  log.append(received('\uFFFD'));
  log.append(received('b'));
  log.close();
  const file = fileOf(dir, log.file);
  const bytes = fs.readFileSync(file);
  const at = bytes.indexOf(Buffer.from('\uFFFD'));
  fs.writeFileSync(file, Buffer.concat([bytes.subarray(0, at + 2), bytes.subarray(at + 3)]));
  const [report] = await verifyLog(dir);
  assert.match(report?.problems[0]?.problem ?? '', /not UTF-8/);
});
