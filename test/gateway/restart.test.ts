/** A gateway that is killed and started again: what its clients on each wire notice of it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { until } from '../support/until.ts';
import { rawClient } from './raw.ts';
import { call, connect, textOf, token, world } from './support.ts';

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function overSse(url: string): Promise<Client> {
  const headers = { authorization: `Bearer ${token}` };
  const client = new Client({ name: 'sse', version: '1' });
  const transport = new SSEClientTransport(new URL('/sse', url), {
    requestInit: { headers },
    eventSourceInit: {
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
    },
  });
  await client.connect(transport as Transport);
  return client;
}

test('no client is lost: with a session, on the socket, over SSE', async (t) => {
  const sockets = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-restart-'));
  const socket = path.join(sockets, 'gateway.sock');
  const port = await freePort();
  const it = world(t, (config) =>
    config.replace('mcp:\n', `mcp:\n  listen: 127.0.0.1:${port}\n  socket: ${socket}\n`),
  );
  const first = await it.serve();
  const url = first.ready.url ?? '';
  const sdk = await connect(t, url, it.src);
  const raw = await rawClient(url, `?cwd=${encodeURIComponent(it.src)}`);
  const sse = await overSse(url);
  const onSocket = spawn(
    process.execPath,
    [path.resolve('test/fixtures/mcp/socket-caller.ts'), socket, token],
    {
      cwd: it.src,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  t.after(async () => {
    onSocket.kill('SIGKILL');
    await sse.close();
    fs.rmSync(sockets, { recursive: true, force: true });
  });
  const answers = createInterface({ input: onSocket.stdout })[Symbol.asyncIterator]();
  const overSocket = async () => {
    onSocket.stdin.write('call pwd\n');
    return String((await answers.next()).value);
  };
  assert.match(await overSocket(), new RegExp(it.src));
  for (let round = 0; round < 2; round += 1) {
    const before = round === 0 ? first : await it.serve();
    if (round > 0) {
      assert.equal(textOf(await call(sdk, 'pwd')), `${it.src}\n`);
      assert.match(await raw.call(7, 'seq', { args: ['2'] }), /1\\n2\\n/);
      assert.match(await overSocket(), new RegExp(it.src));
      // Its stream is its session: the client opens another by itself, after some seconds.
      const found = await until('SSE is there again', async () => {
        const asked = await sse.listTools(undefined, { timeout: 1_000 }).catch((error: Error) => error);
        return asked instanceof Error ? null : asked.tools.length;
      });
      assert.equal(found, (await sdk.listTools()).tools.length);
    }
    before.child.kill('SIGKILL');
    await once(before.child, 'exit');
  }
});
