/** The relay's loopback HTTP, before a gateway that comes and goes. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { token } from '../gateway/transport/fake-core.ts';

const main = path.resolve('src/relay/main.ts');
const program = path.resolve('test/relay/gateway-process.ts');

async function rig(t: TestContext) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-relay-'));
  const socket = path.join(dir, 's', 'gateway.sock');
  const calls = path.join(dir, 'calls');
  const children: ChildProcess[] = [];
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
  });
  const start = async (args: string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, line: line.toString().trim() };
  };
  const relay = await start([main, '--http', '0'], {
    WRAPTOOL_URL: `unix:${socket}`,
    WRAPTOOL_TOKEN: token,
    WRAPTOOL_CWD: '/src',
  });
  return {
    url: relay.line.replace('listening on ', ''),
    gateway: async () => (await start([program, socket, calls])).child,
    calls: () =>
      (fs.existsSync(calls) ? fs.readFileSync(calls, 'utf8') : '')
        .split('\n')
        // After the last end of a line stands nothing, or a line that is still being written.
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { name: string; query: string }),
  };
}

async function connect(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ name: 'sdk', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }) as Transport);
  t.after(() => client.close());
  return client;
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text;

test('a client that never re-initialises goes on working over a restart', async (t) => {
  const it = await rig(t);
  const first = await it.gateway();
  const client = await connect(t, it.url);
  assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { a: 1 } })), '{"a":1}');
  first.kill('SIGKILL');
  await once(first, 'exit');
  const waiting = client.callTool({ name: 'echo', arguments: { a: 2 } });
  await it.gateway();
  assert.equal(textOf(await waiting), '{"a":2}');
  assert.deepEqual(
    it.calls().map(({ query }) => query),
    ['cwd=%2Fsrc', 'cwd=%2Fsrc'],
  );
});

test('a call in flight when the gateway dies is not run twice', async (t) => {
  const it = await rig(t);
  const first = await it.gateway();
  const client = await connect(t, it.url);
  const call = client.callTool({ name: 'hang' });
  while (!it.calls().some(({ name }) => name === 'hang'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  first.kill('SIGKILL');
  await once(first, 'exit');
  await it.gateway();
  assert.equal(textOf(await call), 'this call ran before');
  assert.equal(it.calls().length, 1);
});

const refused: readonly [sentence: string, headers: Record<string, string>, status: number][] = [
  ['no token', {}, 401],
  ['a wrong token', { authorization: 'Bearer x' }, 401],
  ['a foreign Host', { authorization: `Bearer ${token}`, host: 'evil.example' }, 403],
  ['a foreign Origin', { authorization: `Bearer ${token}`, origin: 'http://evil.example' }, 403],
];

test('it refuses, with or without a gateway:', async (t) => {
  const { url } = await rig(t);
  for (const [sentence, headers, status] of refused)
    await t.test(sentence, async () => {
      const req = http.get(url, { headers });
      const [res] = (await once(req, 'response')) as [http.IncomingMessage];
      res.resume();
      assert.equal(res.statusCode, status);
    });
});
