import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readLog, verifyLog } from '../../src/log/read.ts';
import type { LogRecord } from '../../src/log/record.ts';
import { needs } from '../support/real.ts';
import { call, connect, main, textOf, token, world } from './support.ts';

async function records(dir: string): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  for await (const { record } of readLog(dir)) found.push(record);
  return found;
}

test('the registered tools are the policy’s and the gateway’s own, sorted', async (t) => {
  const it = world(t);
  const { ready, child } = await it.serve();
  assert.match(ready.url ?? '', /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  assert.deepEqual([ready.event, ready.socket, ready.pid], ['ready', null, child.pid]);
  const client = await connect(t, ready.url ?? '');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint ?? false]),
    [
      ['cat', false],
      ['echo', false],
      ['pwd', true],
      ['seq', true],
      ['sleep', false],
      ['wraptool_discover', true],
      ['wraptool_request_capability', false],
      ['wraptool_run', false],
    ],
  );
  assert.ok('stdin' in (tools[0]?.inputSchema.properties ?? {}));
  assert.ok(!('stdin' in (tools[1]?.inputSchema.properties ?? {})));
});

for (const [expose, names] of [
  ['tools', ['cat', 'echo', 'pwd', 'seq', 'sleep', 'wraptool_discover', 'wraptool_request_capability']],
  ['run', ['wraptool_discover', 'wraptool_request_capability', 'wraptool_run']],
] as const) {
  test(`mcp.expose: ${expose}`, async (t) => {
    const it = world(t, (config) => config.replace('mcp:\n', `mcp:\n  expose: ${expose}\n`));
    const client = await connect(t, (await it.serve()).ready.url ?? '');
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      names,
    );
  });
}

test('an allowed call runs in the folder that the client named, and is logged before and after', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const result = await call(client, 'pwd');
  assert.deepEqual(result.content, [{ type: 'text', text: `${it.src}\n` }]);
  assert.equal(result.isError, false);
  const { duration_ms, seq, ...facts } = result.structuredContent ?? {};
  assert.deepEqual(facts, { exit_code: 0, signal: null, truncated: false, cwd: it.src });
  assert.equal(typeof duration_ms, 'number');

  const log = (await records(it.log)).filter(({ event }) => event !== 'up');
  assert.deepEqual(
    log.map((record) => [record.event, 'call' in record ? record.call : null]),
    [
      ['received', null],
      ['decided', seq],
      ['finished', seq],
    ],
  );
  assert.deepEqual(
    (await verifyLog(it.log)).flatMap(({ problems }) => problems),
    [],
  );
});

test('wraptool_run takes argv as typed', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  assert.equal(textOf(await call(client, 'wraptool_run', { tool: 'seq', argv: ['1', '3'] })), '1\n2\n3\n');
  assert.equal(textOf(await call(client, 'wraptool_run', { tool: 'cat', argv: [], stdin: 'fed' })), 'fed');
});

test('a failing command says its exit code last, and is an error', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const result = await call(client, 'cat', { args: ['missing'] });
  assert.equal(textOf(result), '/usr/bin/cat: missing: No such file or directory\nexit code 1');
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent?.['exit_code'], 1);
});

const denied: readonly [
  sentence: string,
  name: string,
  args: Record<string, unknown>,
  cwd: string | undefined,
  reason: string,
][] = [
  ['an argument that no rule allows', 'seq', { args: ['x'] }, 'src', 'arg_not_allowed'],
  ['a flag that no rule lists', 'seq', { flags: { '--equal-width': true } }, 'src', 'flag_not_allowed'],
  ['a tool that is not there', 'rm', {}, 'src', 'tool_not_allowed'],
  [
    'a tool without rules, by wraptool_run',
    'wraptool_run',
    { tool: 'nothing', argv: [] },
    'src',
    'no_allow_rules',
  ],
  ['no working directory', 'pwd', {}, undefined, 'cwd_invalid'],
  ['a working directory outside', 'pwd', {}, '.', 'cwd_outside_roots'],
  ['a working directory that is not there', 'pwd', {}, 'src/none', 'cwd_not_found'],
  ['a property that is not of the schema', 'pwd', { env: { A: '1' } }, 'src', 'request_malformed'],
  ['flags that are a list', 'seq', { flags: ['--x'] }, 'src', 'request_malformed'],
  ['stdin where no rule takes it', 'seq', { args: ['1'], stdin: 'x' }, 'src', 'request_malformed'],
  ['stdin that is no string', 'cat', { stdin: 7 }, 'src', 'request_malformed'],
  ['argv that is a string', 'wraptool_run', { tool: 'seq', argv: '1' }, 'src', 'request_malformed'],
  ['a NUL in an argument', 'echo', { args: ['a\0b'] }, 'src', 'argument_malformed'],
];

test('denied, with the reason in the result and in the log:', async (t) => {
  const it = world(t);
  const url = (await it.serve()).ready.url ?? '';
  for (const [sentence, name, args, cwd, reason] of denied)
    await t.test(sentence, async (t) => {
      const client = await connect(t, url, cwd === undefined ? undefined : path.join(it.dir, cwd));
      const result = await call(client, name, args);
      assert.equal(result.structuredContent?.['reason_code'], reason, textOf(result));
      assert.equal(result.isError, true);
      assert.match(textOf(result), /^DENIED: /);
      const decided = (await records(it.log)).findLast((record) => record.event === 'decided');
      assert.equal(decided?.event === 'decided' && decided.reason, reason);
      assert.equal(result.structuredContent?.['seq'], decided?.event === 'decided' && decided.call);
    });
});

test('secrets are gone from results, denials and the log', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  assert.equal(
    textOf(await call(client, 'echo', { args: ['correct-horse-battery'] })),
    '[redacted:A_SECRET]\n',
  );
  const refusal = await call(client, 'seq', { args: ['correct-horse-battery'] });
  assert.equal(JSON.stringify(refusal).includes('correct-horse'), false);
  assert.equal(textOf(await call(client, 'echo', { args: [token] })), '[redacted:WRAPTOOL_TOKEN]\n');
  for (const name of fs.readdirSync(it.log)) {
    const text = fs.readFileSync(path.join(it.log, name), 'utf8');
    assert.equal(text.includes('correct-horse'), false);
    assert.equal(text.includes(token), false);
  }
});

test('output lines come as progress, and a cancelled call ends its process', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const lines: string[] = [];
  await client.callTool({ name: 'seq', arguments: { args: ['3'] } }, undefined, {
    onprogress: ({ message }) => lines.push(message ?? ''),
  });
  assert.deepEqual(lines.join('\n').split('\n').filter(Boolean), ['1', '2', '3']);
  const stop = new AbortController();
  const sleeping = client.callTool({ name: 'sleep', arguments: { args: ['4'] } }, undefined, {
    signal: stop.signal,
  });
  const decided = async () =>
    (await records(it.log)).some((record) => record.event === 'decided' && record.tool === 'sleep');
  while (!(await decided()));
  stop.abort();
  await assert.rejects(sleeping);
  for (;;) {
    const finished = (await records(it.log)).findLast((record) => record.event === 'finished');
    if (finished?.event === 'finished' && finished.cancelled) break;
  }
});

test('discover lists what is allowed and says where nothing is', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const result = await call(client, 'wraptool_discover');
  const { tools } = JSON.parse(textOf(result)) as { tools: Record<string, unknown> };
  assert.deepEqual(tools['nothing'], {
    allowed: [],
    available: {},
    note: 'no allow rules: nothing is callable yet — request one of the available subcommands',
  });
  assert.deepEqual(Object.keys(tools), ['cat', 'echo', 'nothing', 'pwd', 'seq', 'sleep']);
});

test('a denial’s request is taken as it is, joined when equal, and kept over a restart', async (t) => {
  const it = world(t);
  const first = await it.serve();
  const client = await connect(t, first.ready.url ?? '', it.src);
  const denial = await call(client, 'seq', { flags: { '--equal-width': true }, args: ['3'] });
  const request = denial.structuredContent?.['request'] as Record<string, unknown>;
  const asked = await call(client, 'wraptool_request_capability', request);
  assert.equal(asked.isError, false, textOf(asked));
  const { request_id: id, status } = asked.structuredContent as { request_id: string; status: string };
  assert.match(id, /^req_[0-9a-f]{8}$/);
  assert.equal(status, 'pending');
  const again = await call(client, 'wraptool_request_capability', { ...request, rationale: 'other words' });
  assert.equal(again.structuredContent?.['request_id'], id);
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const other = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const polled = await call(other, 'wraptool_request_capability', { request_id: id, wait: 0.1 });
  assert.deepEqual(polled.structuredContent, { request_id: id, status: 'pending' });
  assert.equal((await records(it.log)).filter(({ event }) => event === 'requested').length, 1);
});

test('requests are bounded per session', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const ask = (i: number) =>
    call(client, 'wraptool_request_capability', { tool: 'seq', flags: [`--f${i}`], rationale: 'flood' });
  for (let i = 0; i < 20; i += 1) assert.equal((await ask(i)).isError, false);
  const over = await ask(20);
  assert.equal(over.isError, true);
  assert.equal(over.structuredContent?.['reason_code'], 'busy');
});

const malformed: readonly [sentence: string, args: Record<string, unknown>][] = [
  ['no rationale', { tool: 'seq' }],
  ['a rationale that is too long', { tool: 'seq', rationale: 'x'.repeat(2001) }],
  ['a flag without dashes', { tool: 'seq', rationale: 'x', flags: ['force'] }],
  ['a wait that is too long', { tool: 'seq', rationale: 'x', wait: 51 }],
  ['an id that is none', { request_id: 'req_1' }],
  ['an unknown property', { tool: 'seq', rationale: 'x', approve: true }],
];

test('a request is refused as malformed:', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  for (const [sentence, args] of malformed)
    await t.test(sentence, async () => {
      const result = await call(client, 'wraptool_request_capability', args);
      assert.equal(result.structuredContent?.['reason_code'], 'request_malformed');
    });
});

test('when the log can’t be written the call is refused and nothing runs', async (t) => {
  const it = world(t);
  const gateway = await it.serve();
  const client = await connect(t, gateway.ready.url ?? '', it.src);
  // A file-size limit does to the log what a full disk does.
  const file = fs.readdirSync(it.log)[0] ?? '';
  execFileSync('prlimit', [
    '--pid',
    String(gateway.child.pid),
    `--fsize=${fs.statSync(path.join(it.log, file)).size}:`,
  ]);
  const result = await call(client, 'echo', { args: ['ran'] });
  assert.equal(result.structuredContent?.['reason_code'], 'log_unavailable', textOf(result));
  assert.match(textOf(result), /^DENIED: 'echo' is not permitted\./);
  execFileSync('prlimit', ['--pid', String(gateway.child.pid), '--fsize=unlimited:']);
  assert.equal(textOf(await call(client, 'echo', { args: ['ran'] })), 'ran\n');
});

test('SIGTERM ends it in order: socket gone, log closed with its cause, exit 0', async (t) => {
  const it = world(t, (config) =>
    config.replace('mcp:\n', 'mcp:\n  socket: SOCKET\n').replace('SOCKET', 'PLACE'),
  );
  const socket = path.join(it.dir, 'run', 'gateway.sock');
  fs.writeFileSync(it.config, fs.readFileSync(it.config, 'utf8').replace('PLACE', socket));
  const gateway = await it.serve();
  assert.equal(gateway.ready.socket, socket);
  assert.equal(fs.statSync(socket).mode & 0o777, 0o600);
  assert.equal(fs.readFileSync(`/proc/${gateway.child.pid}/comm`, 'utf8'), 'wraptool\n');
  gateway.child.kill('SIGTERM');
  assert.deepEqual(await once(gateway.child, 'exit'), [0, null]);
  assert.equal(fs.existsSync(socket), false);
  const last = (await records(it.log)).at(-1);
  assert.equal(last?.event === 'down' && last.cause, 'SIGTERM');
});

test('a busy port is an error that says what to do', async (t) => {
  const it = world(t);
  const port = new URL((await it.serve()).ready.url ?? '').port;
  fs.writeFileSync(
    it.config,
    fs.readFileSync(it.config, 'utf8').replace('mcp:\n', `mcp:\n  listen: 127.0.0.1:${port}\n`),
  );
  const second = await it.serve();
  const { error } = second.ready as unknown as { error: { code: string; message: string; hint: string } };
  assert.deepEqual(error, {
    code: 'address_in_use',
    message: `something listens on 127.0.0.1:${port} already`,
    hint: "stop it, or set 'mcp.listen' to another port (0 takes a free one)",
  });
  assert.deepEqual(await once(second.child, 'exit'), [1, null]);
});

test('without a token there is no gateway', async (t) => {
  const it = world(t);
  await assert.rejects(
    it.serve({ args: ['serve', '--config', it.config], env: { WRAPTOOL_TOKEN: '' } }),
    /there is no token/,
  );
});

test('a session’s gateway listens on its socket only, and ends with its supervisor', async (t) => {
  const it = world(t);
  const dir = path.join(it.dir, 'run', 'calm-otter');
  fs.mkdirSync(path.join(dir, 'socket'), { recursive: true, mode: 0o700 });
  const facts = {
    name: 'calm-otter',
    id: '00112233aabbccdd',
    workspace: it.src,
    roots: [it.src],
    owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    remotes: {},
    status: 'running',
  };
  fs.writeFileSync(path.join(dir, 'session.json'), JSON.stringify(facts));
  const gateway = await it.serve({
    args: ['serve', '--session', 'calm-otter', '--config', it.config, '--json'],
    env: { WRAPTOOL_SESSION_DIR: dir },
    stdin: 'pipe',
  });
  const socket = path.join(dir, 'socket', 'gateway.sock');
  assert.deepEqual([gateway.ready.url, gateway.ready.socket], [null, socket]);
  gateway.child.stdin?.end();
  assert.deepEqual(await once(gateway.child, 'exit'), [0, null]);
  assert.equal(fs.existsSync(dir), false);
  const last = (await records(it.log)).at(-1);
  assert.deepEqual(last?.event === 'down' && [last.cause, last.session], [
    'the supervisor is gone',
    'calm-otter',
  ]);
});

test('the commands of the log: tail, why, verify', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const result = await call(client, 'seq', { args: ['\u202ex'] });
  const seq = String(result.structuredContent?.['seq']);
  const wraptool = (...args: string[]) =>
    execFileSync(process.execPath, [main, 'log', ...args, '--config', it.config], {
      env: it.env,
      encoding: 'utf8',
    });
  const story = wraptool('why', seq);
  assert.match(
    story,
    /received seq \["\\u\{202e\}x"\] from sdk\/1\n.*decided deny \["seq", .*argument_malformed/,
  );
  assert.equal(wraptool('tail', '-n', '2', '--json').trim().split('\n').length, 2);
  assert.match(wraptool('verify'), /^\d+ records in 1 files, all chains hold\n$/);
  const file = path.join(it.log, fs.readdirSync(it.log)[0] ?? '');
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"deny"', '"allow"'));
  assert.throws(() => wraptool('verify'), { status: 1 });
});

test('the socket of a session belongs to the owner of its workspace', needs('root'), async (t) => {
  const it = world(t);
  const dir = path.join(it.dir, 'run', 'calm-otter');
  fs.mkdirSync(path.join(dir, 'socket'), { recursive: true, mode: 0o700 });
  fs.chownSync(path.join(dir, 'socket'), 1500, 1500);
  const owner = { uid: 1500, gid: 1500 };
  const facts = { name: 'calm-otter', id: '0011', workspace: it.src, roots: [it.src], owner, remotes: {} };
  fs.writeFileSync(path.join(dir, 'session.json'), JSON.stringify(facts));
  const { ready } = await it.serve({
    args: ['serve', '--session', 'calm-otter', '--config', it.config, '--json'],
    env: { WRAPTOOL_SESSION_DIR: dir },
    stdin: 'pipe',
  });
  const { uid, gid, mode } = fs.statSync(ready.socket ?? '');
  assert.deepEqual([uid, gid, mode & 0o777], [1500, 1500, 0o600]);
});

test('a huge call costs little: the answer is short, and others are served', async (t) => {
  const it = world(t);
  const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  for (const args of [
    Array.from({ length: 100 }, () => 'x'.repeat(32_000)),
    Array.from({ length: 300_000 }, () => 'x'),
  ]) {
    const result = await call(client, 'echo', { args });
    assert.equal(
      result.structuredContent?.['reason_code'],
      'argument_malformed',
      textOf(result).slice(0, 300),
    );
    assert.ok(JSON.stringify(result).length < 100_000, `${JSON.stringify(result).length} characters`);
  }
  for (const name of fs.readdirSync(it.log)) assert.ok(fs.statSync(path.join(it.log, name)).size < 1_500_000);
});
