/** Servers that break: nothing of it reaches another one, and nothing is left behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { call, listed, place, result, textOf, until } from './place.ts';

const error = (rest: string) => `error: upstream server 's' ${rest}`;

void test('a server that ends in a call is a tool error, and the next call starts it again', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const bystander = textOf(upstreams, 's__wait');
  assert.equal(
    await textOf(upstreams, 's__exit', { code: 7 }),
    error('ended with exit code 7; the next call starts it again'),
  );
  assert.equal(await bystander, error('ended with exit code 7; the next call starts it again'));
  const [{ state, lastError, pid, tools }] = upstreams.status() as [ReturnType<typeof upstreams.status>[0]];
  assert.deepEqual(
    [state, lastError, pid, tools.length > 0],
    ['failed', 'ended with exit code 7', null, true],
  );
  assert.equal(await textOf(upstreams, 's__echo', { a: 1 }), '{"a":1}');
  assert.equal(
    await textOf(upstreams, 's__kill'),
    error('was ended by SIGSEGV; the next call starts it again'),
  );
  assert.equal(await textOf(upstreams, 's__echo', { a: 2 }), '{"a":2}');
  assert.equal(upstreams.status()[0]!.restarts, 2);
  assert.deepEqual(
    p.kinds('s').filter((kind) => kind !== 'output'),
    ['started', 'failed', 'started', 'failed', 'started'],
  );
});

void test('a server that does not start is told by its exit code, and is tried again after a while', async (t) => {
  const p = await place(t);
  const upstreams = p.start(
    { s: p.server(['--crash', '3']) },
    { limits: { backoffMs: (failures) => (failures < 2 ? 0 : 60_000) } },
  );
  assert.deepEqual(await listed(upstreams, 's'), []);
  assert.equal(upstreams.status()[0]!.lastError, 'ended with exit code 3');
  assert.equal(
    await textOf(upstreams, 's__echo'),
    error('ended with exit code 3; the next call starts it again'),
  );
  assert.equal(
    await textOf(upstreams, 's__echo'),
    error('ended with exit code 3; it can be started again in 60 s'),
  );
  upstreams.list();
  assert.equal(upstreams.status()[0]!.restarts, 1);
  assert.deepEqual(p.output('s'), ['no database', 'no database']);
});

void test('a server that fails once is there for the next call', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server(['--crash-once', path.join(p.dir, 'crashed')]) });
  assert.equal(
    await textOf(upstreams, 's__echo'),
    error('ended with exit code 9; the next call starts it again'),
  );
  assert.equal(await textOf(upstreams, 's__echo'), '{}');
});

void test('programs that can not be started are named', async (t) => {
  const p = await place(t);
  const script = path.join(p.dir, 'script');
  await writeFile(script, 'echo no first line\n', { mode: 0o755 });
  await chmod(script, 0o755);
  const writable = path.join(p.dir, 'workspace');
  const upstreams = p.start(
    {
      absent: p.server([], { command: path.join(p.dir, 'none', 'server') }),
      shellish: p.server([], { command: script }),
      folder: p.server([], { cwd: path.join(p.dir, 'none') }),
      within: p.server([], { command: path.join(writable, 'server') }),
      name: p.server([], { env: { 'A=B': '1' } }),
    },
    { agentWritable: [writable, p.dir] },
  );
  const why = async (name: string) =>
    (await textOf(upstreams, `${name}__echo`)).replace(/^error: upstream server '\w+' /, '');
  assert.equal(await why('absent'), `could not be started: '${p.dir}/none/server' does not exist`);
  assert.match(await why('shellish'), /^could not be started: '.*script' (is neither|lies in)/);
  assert.match(await why('folder'), /^could not be started: '.*' does not start in '.*\/none' \(ENOENT\)$/);
  assert.match(await why('within'), /^could not be started: /);
  assert.match(await why('name'), /^could not be started: 'A=B' /);
});

void test('a server that never answers, and one that is slow, delay no other', async (t) => {
  const p = await place(t);
  const upstreams = p.start(
    { silent: p.server(['--silent']), slow: p.server(['--delay', '20000']), s: p.server() },
    { limits: { startMs: 60_000 } },
  );
  await listed(upstreams, 's');
  assert.equal(await textOf(upstreams, 's__echo', { quick: true }), '{"quick":true}');
  assert.deepEqual(
    upstreams.status().map(({ server, state }) => [server, state]),
    [
      ['s', 'ready'],
      ['silent', 'starting'],
      ['slow', 'starting'],
    ],
  );
  const controller = new AbortController();
  const waiting = textOf(upstreams, 'silent__echo', {}, { signal: controller.signal });
  controller.abort();
  assert.equal(await waiting, "error: upstream server 'silent' was not ready when the call ended");
});

void test('a start is bounded in time', async (t) => {
  const p = await place(t);
  const upstreams = p.start(
    { s: p.server(['--silent', '--ignore-eof', '--ignore-term']) },
    { limits: { startMs: 400 } },
  );
  assert.equal(await textOf(upstreams, 's__echo'), error('did not answer within 0.4 s'));
  assert.deepEqual(p.processes(), []);
});

const refusals: readonly (readonly [string, readonly string[], string])[] = [
  [
    'of a revision that nobody knows',
    ['--revision', '2099-01-01'],
    'speaks no known revision of MCP (it said "2099-01-01")',
  ],
  ['that fails at its list', ['--list-error'], 'does not list its tools: the list is broken'],
  ['whose list never ends', ['--endless-pages'], 'gives its list of tools without end'],
  ['whose definitions are no list', ['--tools', '{}'], 'did not answer within 1 s'],
];

for (const [title, flags, why] of refusals)
  void test(`a server ${title} is not used`, async (t) => {
    const p = await place(t);
    const upstreams = p.start(
      { s: p.server(flags) },
      { limits: { startMs: why.includes('1 s') ? 1_000 : 20_000 } },
    );
    const text = await textOf(upstreams, 's__echo');
    assert.ok(text.startsWith(error('')), text);
    if (!why.includes('1 s')) assert.equal(text, error(why));
    assert.deepEqual(p.processes(), []);
  });

void test('lines that are no message are shown as output, and calls go on', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  assert.equal(await textOf(upstreams, 's__garbage'), 'still here');
  const shown = p.events.filter((event) => event.kind === 'output' && event.stream === 'stdout');
  assert.deepEqual(
    shown.map((event) => event.kind === 'output' && event.line.slice(0, 30)),
    ['starting up!', '{"jsonrpc": "2.0", "id"', '[]', '{"jsonrpc":"1.0","id":1,"resul', '\0', '['.repeat(30)],
  );
});

void test('a line of 100 MB costs no memory, fails its call alone, and the server lives on', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() }, { limits: { messageBytes: 4 * 1024 * 1024 } });
  await textOf(upstreams, 's__echo');
  const before = process.memoryUsage();
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 5);
  const text = await textOf(upstreams, 's__longLine', { bytes: 100 * 1024 * 1024 });
  assert.equal(text, error('sent a message of over 4194304 bytes'));
  await until(() => p.output('s').includes('the long line is out'), 'the line was read to its end');
  assert.equal(await textOf(upstreams, 's__echo', { after: 1 }), '{"after":1}');
  clearInterval(watch);
  assert.ok(
    most - before.rss < 60 * 1024 * 1024,
    `${Math.round((most - before.rss) / 1024 / 1024)} MiB more`,
  );
  assert.equal(upstreams.status()[0]!.restarts, 0);
});

void test('a line without end ends the server', async (t) => {
  const p = await place(t);
  const upstreams = p.start(
    { s: p.server() },
    { limits: { messageBytes: 1_000_000, skippedBytes: 3_000_000 } },
  );
  await textOf(upstreams, 's__longLine', { bytes: 20_000_000 });
  await until(() => upstreams.status()[0]!.state === 'failed', 'it was ended');
  assert.equal(upstreams.status()[0]!.lastError, 'sent a message of over 3000000 bytes');
});

void test('a message of just under the limit comes through', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const { content } = await result(upstreams, 's__sized', { bytes: 15 * 1024 * 1024 });
  assert.equal(String(content[0]!['text']).length, 15 * 1024 * 1024);
});

void test('a flood waits: the loop stays free and other servers are served', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ flood: p.server(), s: p.server() }, { limits: { unsolicited: 200 } });
  await Promise.all([textOf(upstreams, 's__echo'), textOf(upstreams, 'flood__echo')]);
  const controller = new AbortController();
  const flood = call(upstreams, 'flood__flood', { messages: 1e9 }, { signal: controller.signal });
  await until(() => p.kinds('flood').filter((kind) => kind === 'message').length > 500, 'the flood came');
  const [from, since] = [p.events.length, performance.now()];
  for (let number = 0; number < 100; number += 1) await textOf(upstreams, 's__echo', { number });
  const rate = (p.events.length - from) / ((performance.now() - since) / 1000);
  // One read of a pipe may hold some hundreds of them.
  assert.ok(rate < 20_000, `${Math.round(rate)} messages a second`);
  controller.abort();
  await flood;
});

void test('a list that is said to change without end delays its own calls alone', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server(['--relist-flood'], { timeout: 1_500 }) });
  await listed(upstreams, 's');
  const text = await textOf(upstreams, 's__echo');
  assert.ok(['{}', error('was not ready when the call ended')].includes(text), text);
});

void test('a server that does not read its input is given up', async (t) => {
  const p = await place(t);
  const upstreams = p.start(
    { s: p.server(['--deaf']) },
    { limits: { startMs: 500, messageBytes: 1_000_000 } },
  );
  assert.equal(
    await textOf(upstreams, 's__echo', { big: 'x'.repeat(3_000_000) }),
    error('did not answer within 0.5 s'),
  );
});

void test('a server that closes its output and lives on is ended', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  assert.equal(
    await textOf(upstreams, 's__closeOutput'),
    error('closed its output; the next call starts it again'),
  );
  assert.equal(await textOf(upstreams, 's__echo'), '{}');
});

void test(
  'what ignores TERM, has a session of its own or is orphaned ends with its server',
  needs('linux'),
  async (t) => {
    const p = await place(t);
    const upstreams = p.start({ s: p.server(['--ignore-term', '--ignore-eof']) });
    assert.equal(await textOf(upstreams, 's__leave'), 'left');
    await until(() => p.processes().length >= 5, 'they all run');
    await upstreams.close();
    assert.deepEqual(p.processes(), []);
    const again = p.start({ s: p.server() });
    assert.equal(await textOf(again, 's__leave'), 'left');
    await textOf(again, 's__exit');
    await until(() => p.processes().length === 0, 'what it left ended with it');
  },
);

void test('when the gateway is killed nothing is left', needs('linux'), async (t) => {
  const p = await place(t);
  const script = path.join(import.meta.dirname, '../fixtures/mcp/gateway.ts');
  const config = JSON.stringify({ s: p.server(['--ignore-term', '--ignore-eof']) });
  const gateway = spawn(process.execPath, [script, config, p.stateDir, p.runDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(gateway.stdout, 'data')) as [Buffer];
  assert.equal(String(line), 'left\n');
  await until(() => p.processes().length >= 5, 'they all run');
  gateway.kill('SIGKILL');
  await until(() => p.processes().length === 0, 'all ended');
  // Its folders belong to the session, which is removed whole.
  await rm(p.runDir, { recursive: true });
  await mkdir(p.runDir);
});

void test(
  'when a keeper is killed its server is, and the next call starts it again',
  needs('linux'),
  async (t) => {
    const p = await place(t);
    const upstreams = p.start({ s: p.server(['--ignore-eof']) });
    await textOf(upstreams, 's__echo');
    const stat = await readFile(`/proc/${upstreams.status()[0]!.pid}/stat`, 'utf8');
    process.kill(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]), 'SIGKILL');
    await until(() => upstreams.status()[0]!.state === 'failed', 'it was noticed');
    await until(() => p.processes().length === 0, 'the server ended');
    assert.equal(await textOf(upstreams, 's__echo'), '{}');
  },
);

void test('30 starts and crashes leave no process, folder or descriptor', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server([], { command: '/bin/sh', args: ['-c', 'sleep 600 & exit 5'] }) });
  await textOf(upstreams, 's__echo');
  const before = readdirSync('/proc/self/fd').length;
  for (let number = 0; number < 30; number += 1)
    assert.equal(
      await textOf(upstreams, 's__echo'),
      error('ended with exit code 5; the next call starts it again'),
    );
  assert.deepEqual([p.processes(), readdirSync(p.runDir)], [[], []]);
  assert.ok(readdirSync('/proc/self/fd').length <= before + 4);
});
