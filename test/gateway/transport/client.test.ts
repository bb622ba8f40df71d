/** The real SDK client over TCP, the Unix socket and legacy SSE. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http from 'node:http';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { rig, token, type Rig } from './fake-core.ts';

const headers = { authorization: `Bearer ${token}` };

/** A client that notes each list_changed. */
async function connect(transport: unknown): Promise<{ client: Client; changes: () => Promise<void> }> {
  const client = new Client({ name: 'sdk', version: '1' });
  let told: () => void = () => undefined;
  const change = new Promise<void>((resolve) => (told = resolve));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => told());
  await client.connect(transport as Transport);
  return { client, changes: () => change };
}

const overTcp = ({ url }: Rig, query = '') =>
  new StreamableHTTPClientTransport(new URL(url + query), { requestInit: { headers } });

/** fetch has no Unix sockets, so this one speaks through node:http. */
function fetchOver(socketPath: string) {
  return async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input);
    const req = http.request({
      socketPath,
      path: url.pathname + url.search,
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
    });
    init.signal?.addEventListener('abort', () => req.destroy(new Error('aborted')));
    req.end(init.body as string | undefined);
    const [res] = (await once(req, 'response')) as [http.IncomingMessage];
    const body = [202, 204].includes(res.statusCode ?? 0)
      ? null
      : new ReadableStream({
          start(controller) {
            res.on('data', (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)));
            res.on('end', () => controller.close());
            res.on('error', (error) => controller.error(error));
            req.on('error', (error) => controller.error(error));
          },
        });
    if (!body) res.resume();
    return new Response(body, {
      status: res.statusCode ?? 500,
      headers: res.headers as Record<string, string>,
    });
  };
}

const overUnix = ({ socket }: Rig) =>
  new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    requestInit: { headers },
    fetch: fetchOver(socket),
  });

const overSse = ({ url }: Rig) =>
  new SSEClientTransport(new URL(url.replace('/mcp', '/sse?cwd=%2Fsrc')), {
    requestInit: { headers },
    eventSourceInit: {
      fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...headers } }),
    },
  });

for (const [name, make] of [
  ['Streamable HTTP on TCP', overTcp],
  ['Streamable HTTP on the Unix socket', overUnix],
  ['legacy SSE', overSse],
] as const) {
  test(`${name}: lists, calls, follows progress, is told of changes, cancels`, async (t) => {
    const it = await rig(t);
    const { client, changes } = await connect(make(it));
    t.after(() => client.close());
    assert.deepEqual(client.getServerVersion(), { name: 'wraptool', version: '0.0.0' });
    assert.deepEqual((await client.listTools()).tools, it.core.tools);
    const result = await client.callTool({ name: 'echo', arguments: { a: 1 } });
    assert.deepEqual(result, { content: [{ type: 'text', text: '{"a":1}' }], isError: false });
    await client.ping();

    const lines: unknown[] = [];
    await client.callTool({ name: 'slow' }, undefined, { onprogress: ({ message }) => lines.push(message) });
    assert.deepEqual(lines, ['line 0', 'line 1', 'line 2']);

    const stop = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, undefined, { signal: stop.signal });
    while (it.core.calls.at(-1)?.name !== 'hang') await new Promise(setImmediate);
    stop.abort();
    await assert.rejects(hanging);
    while (it.core.cancelled.length === 0) await new Promise(setImmediate);

    await assert.rejects(client.callTool({ name: 'fail' }), /Internal error: a fault of the gateway itself/);
    assert.match(String(it.faults), /a secret of the gateway/);

    // The stream of a client opens after `initialize`; a change before that reaches it when it does.
    it.core.changed();
    await changes();
  });
}

test('the query of the URL reaches the core raw', async (t) => {
  const it = await rig(t);
  for (const make of [() => overTcp(it, '?cwd=%2Fa%2520b'), () => overSse(it)]) {
    const { client } = await connect(make());
    await client.callTool({ name: 'echo' });
    await client.close();
  }
  assert.deepEqual(
    it.core.calls.map(({ caller }) => [caller.query, caller.client]),
    [
      ['cwd=%2Fa%2520b', 'sdk/1'],
      ['cwd=%2Fsrc', 'sse'],
    ],
  );
});

test('a call that takes long answers as a stream, one that is quick as JSON', async (t) => {
  const it = await rig(t, { limits: { patienceMs: 10 } });
  const post = async (id: number, name: string, session: string | null) => {
    const res = await fetch(it.url, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session ? { 'mcp-session-id': session } : {}),
      },
      body: JSON.stringify(
        session
          ? { jsonrpc: '2.0', id, method: 'tools/call', params: { name } }
          : { jsonrpc: '2.0', id, method: 'initialize', params: { protocolVersion: '2025-06-18' } },
      ),
    });
    return {
      type: res.headers.get('content-type'),
      session: res.headers.get('mcp-session-id'),
      body: await res.text(),
    };
  };
  const first = await post(0, '', null);
  assert.equal(first.type, 'application/json');
  assert.equal((await post(1, 'echo', first.session)).type, 'application/json');
  const late = await post(2, 'late', first.session);
  assert.equal(late.type, 'text/event-stream');
  assert.equal(
    late.body,
    'event: message\ndata: {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"late"}],"isError":false}}\n\n',
  );
});
