import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { token } from '../gateway/transport/fake-core.ts';

const main = path.resolve('src/relay/main.ts');
const program = path.resolve('test/relay/gateway-process.ts');

function rig(t: TestContext) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-relay-'));
  const socket = path.join(dir, 's', 'gateway.sock');
  const calls = path.join(dir, 'calls');
  const children: ChildProcess[] = [];
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
  });
  const env = {
    WRAPTOOL_URL: `unix:${socket}`,
    WRAPTOOL_TOKEN: token,
    WRAPTOOL_CWD: '/src',
    WRAPTOOL_RELAY_WAIT_MS: '20000',
  };
  return {
    dir,
    socket,
    env,
    calls: () =>
      fs.existsSync(calls)
        ? fs
            .readFileSync(calls, 'utf8')
            .split('\n')
            // After the last end of a line stands nothing, or a line that is still being written.
            .slice(0, -1)
            .map((line) => JSON.parse(line) as { name: string; attempt: number; query: string })
        : [],
    async gateway(...extra: string[]) {
      const child = spawn(process.execPath, [program, socket, calls, ...extra], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      await once(child.stdout, 'data');
      return {
        child,
        async kill() {
          child.kill('SIGKILL');
          await once(child, 'exit');
        },
      };
    },
    async client(more: Record<string, string> = {}) {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [main],
        env: { ...env, ...more },
        stderr: 'pipe',
      });
      const client = new Client({ name: 'sdk', version: '1' });
      let changes = 0;
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1));
      return {
        client,
        transport,
        connected: client.connect(transport),
        changes: () => changes,
        close: () => client.close(),
      };
    },
    relay() {
      const child = spawn(process.execPath, [main], { env, stdio: ['pipe', 'pipe', 'pipe'] });
      children.push(child);
      const lines: Record<string, unknown>[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => {
        lines.push(JSON.parse(line) as Record<string, unknown>);
        child.emit('answer');
      });
      return {
        child,
        send: (message: unknown) =>
          child.stdin.write(typeof message === 'string' ? `${message}\n` : `${JSON.stringify(message)}\n`),
        async answer(match: (line: Record<string, unknown>) => boolean) {
          for (;;) {
            const found = lines.find(match);
            if (found) return found;
            await once(child, 'answer');
          }
        },
      };
    },
  };
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text;
const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('lists and calls, and names its working directory', async (t) => {
  const it = rig(t);
  await it.gateway();
  const { client, connected, close } = await it.client();
  await connected;
  t.after(close);
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ['echo'],
  );
  assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { a: 1 } })), '{"a":1}');
  assert.deepEqual(
    it.calls().map(({ query, attempt }) => [query, attempt]),
    [['cwd=%2Fsrc', 1]],
  );
});

test('a client that starts before the gateway waits for it', async (t) => {
  const it = rig(t);
  const { client, connected, close } = await it.client();
  t.after(close);
  await it.gateway();
  await connected;
  assert.equal(textOf(await client.callTool({ name: 'echo' })), '{}');
});

test('the gateway killed and started again between calls: the client never learns of it', async (t) => {
  const it = rig(t);
  const first = await it.gateway();
  const { client, connected, changes, close } = await it.client();
  await connected;
  t.after(close);
  await client.listTools();
  await client.callTool({ name: 'echo' });
  await first.kill();
  const calls = Array.from({ length: 20 }, (_, i) => client.callTool({ name: 'echo', arguments: { i } }));
  await it.gateway();
  assert.deepEqual(
    (await Promise.all(calls)).map(textOf),
    Array.from({ length: 20 }, (_, i) => `{"i":${i}}`),
  );
  assert.equal(it.calls().length, 21);
  await client.ping();
  assert.equal(changes(), 0);
});

test('a different list after a restart is told once', async (t) => {
  const it = rig(t);
  const first = await it.gateway();
  const { client, connected, changes, close } = await it.client();
  await connected;
  t.after(close);
  await client.listTools();
  await first.kill();
  await it.gateway('more');
  await until(() => changes() > 0);
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ['echo', 'more'],
  );
  await client.callTool({ name: 'echo' });
  assert.equal(changes(), 1);
});

test('a list_changed of the gateway with the same list is kept from the client', async (t) => {
  const it = rig(t);
  const { child } = await it.gateway();
  const { client, connected, changes, close } = await it.client();
  await connected;
  t.after(close);
  await client.listTools();
  child.kill('SIGUSR2');
  for (let i = 0; i < 20; i += 1) await client.callTool({ name: 'echo' });
  assert.equal(changes(), 0);
});

test('a call in flight when the gateway dies is not run twice', async (t) => {
  const it = rig(t);
  const first = await it.gateway();
  const { client, connected, close } = await it.client();
  await connected;
  t.after(close);
  const call = client.callTool({ name: 'hang' });
  await until(() => it.calls().length === 1);
  await first.kill();
  await it.gateway();
  assert.equal(textOf(await call), 'this call ran before');
  assert.equal(it.calls().length, 1);
});

test('a gateway that stays away is an error that names the cause', async (t) => {
  const it = rig(t);
  const first = await it.gateway();
  const { client, connected, close } = await it.client({ WRAPTOOL_RELAY_WAIT_MS: '100' });
  await connected;
  t.after(close);
  await first.kill();
  await assert.rejects(
    client.callTool({ name: 'echo' }),
    /wraptool: the gateway was not reachable for 0 s \(ECONNREFUSED\)/,
  );
});

test('a wrong token is told and does not loop', async (t) => {
  const it = rig(t);
  await it.gateway();
  const { connected, close } = await it.client({ WRAPTOOL_TOKEN: 'wrong' });
  t.after(close);
  await assert.rejects(connected, /the gateway answered 401: .*the token is wrong, or its session has ended/);
});

test('a probe before initialize is answered at once, also without a gateway', async (t) => {
  const relay = rig(t).relay();
  relay.send({ jsonrpc: '2.0', id: 1, method: 'server/discover' });
  assert.deepEqual(await relay.answer(({ id }) => id === 1), {
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32601, message: 'Method not found: server/discover' },
  });
});

test('a cancelled call is stopped at the gateway and gets no answer; a finished one may be cancelled', async (t) => {
  const it = rig(t);
  await it.gateway();
  const { client, connected, close } = await it.client();
  await connected;
  t.after(close);
  const stop = new AbortController();
  const call = client.callTool({ name: 'hang' }, undefined, { signal: stop.signal });
  await until(() => it.calls().length === 1);
  stop.abort();
  await assert.rejects(call);
  await client.notification({ method: 'notifications/cancelled', params: { requestId: 1 } });
  assert.equal(textOf(await client.callTool({ name: 'echo' })), '{}');
});

test('hostile lines are answered or skipped, and the next one is served', async (t) => {
  const it = rig(t);
  await it.gateway();
  const relay = it.relay();
  relay.send('not json');
  assert.equal((await relay.answer(({ id }) => id === null))['id'], null);
  relay.send('{"method":');
  relay.send('7');
  relay.send(`{"jsonrpc":"2.0","id":"big","method":"${'x'.repeat(5 * 1024 * 1024)}"}`);
  relay.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', clientInfo: { name: 'x', version: '1' } },
  });
  assert.deepEqual(Object.keys(await relay.answer(({ id }) => id === 1)), ['jsonrpc', 'id', 'result']);
});

test('the end of its input ends the MCP session and the relay, with 0', async (t) => {
  const it = rig(t);
  await it.gateway();
  const relay = it.relay();
  relay.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } });
  await relay.answer(({ id }) => id === 1);
  relay.child.stdin.end();
  assert.deepEqual(await once(relay.child, 'exit'), [0, null]);
});

test('without a token it says so and ends with 1', async () => {
  const child = spawn(process.execPath, [main], { env: {}, stdio: ['ignore', 'ignore', 'pipe'] });
  const [data] = (await once(child.stderr, 'data')) as [Buffer];
  assert.equal(
    data.toString(),
    'wraptool relay: WRAPTOOL_TOKEN is not in the environment of the relay: pass it on in the MCP entry\n',
  );
  assert.deepEqual(await once(child, 'exit'), [1, null]);
});
