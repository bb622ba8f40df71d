/** The revision 2026-07-28, message by message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rig, token, type Rig } from './fake-core.ts';

const version = '2026-07-28';
const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'modern', version: '2' },
};
const server = { 'io.modelcontextprotocol/serverInfo': { name: 'wraptool', version: '0.0.0' } };

type Change = {
  headers?: Record<string, string | null>;
  meta?: Record<string, unknown>;
  signal?: AbortSignal;
};

async function post(
  it: Rig,
  method: string,
  params: Record<string, unknown> = {},
  change: Change = {},
): Promise<Response> {
  const headers = new Headers({
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof params['name'] === 'string' && /^[ -~]*$/.test(params['name'])
      ? { 'mcp-name': params['name'] }
      : {}),
  });
  for (const [name, value] of Object.entries(change.headers ?? {}))
    if (value === null) headers.delete(name);
    else headers.set(name, value);
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { ...params, _meta: { ...envelope, ...change.meta } },
  };
  return fetch(it.url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: change.signal ?? null,
  });
}

const resultOf = async (res: Response) => ((await res.json()) as { result: unknown }).result;

test('server/discover says what is served', async (t) => {
  const res = await post(await rig(t), 'server/discover');
  assert.equal(res.headers.get('mcp-session-id'), null);
  assert.deepEqual(await resultOf(res), {
    supportedVersions: [version],
    capabilities: { tools: { listChanged: true } },
    instructions: 'test',
    ttlMs: 200,
    cacheScope: 'private',
    resultType: 'complete',
    _meta: server,
  });
});

test('tools/list says how long it holds and for whom', async (t) => {
  const it = await rig(t);
  assert.deepEqual(await resultOf(await post(it, 'tools/list')), {
    tools: it.core.tools,
    ttlMs: 200,
    cacheScope: 'private',
    resultType: 'complete',
    _meta: server,
  });
});

test('tools/call knows its client without a session', async (t) => {
  const it = await rig(t);
  const res = await post(it, 'tools/call', { name: 'echo', arguments: { a: 1 } });
  assert.deepEqual(await resultOf(res), {
    content: [{ type: 'text', text: '{"a":1}' }],
    isError: false,
    resultType: 'complete',
    _meta: server,
  });
  const { peerCwd, ...caller } = it.core.calls[0]!.caller;
  assert.equal(await peerCwd(), null);
  assert.deepEqual(caller, {
    query: '',
    client: 'modern/2',
    mcpSession: null,
  });
});

test('what the core says in _meta is kept', async (t) => {
  const result = await resultOf(await post(await rig(t), 'tools/call', { name: 'facts' }));
  assert.deepEqual((result as { _meta: unknown })._meta, { 'wraptool/facts': 1, ...server });
});

test('a client that goes away cancels its call', async (t) => {
  const it = await rig(t);
  const stop = new AbortController();
  const call = post(it, 'tools/call', { name: 'hang' }, { signal: stop.signal });
  while (it.core.calls.length === 0) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(call);
  while (it.core.cancelled.length === 0) await new Promise(setImmediate);
});

test('a subscription is acknowledged, told of changes under its id, and ended with the gateway', async (t) => {
  const it = await rig(t);
  const filter = { notifications: { toolsListChanged: true, promptsListChanged: true } };
  const res = await post(it, 'subscriptions/listen', filter);
  const reader = (res.body as ReadableStream<Uint8Array>).getReader();
  const read = async () => {
    const text = new TextDecoder().decode((await reader.read()).value);
    return JSON.parse(text.replace(/^event: message\ndata: /, '')) as unknown;
  };
  const subscription = { 'io.modelcontextprotocol/subscriptionId': 1 };
  assert.deepEqual(await read(), {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true }, _meta: subscription },
  });
  it.core.changed();
  assert.deepEqual(await read(), {
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: subscription },
  });
  const closed = it.listening.close();
  assert.deepEqual(await read(), {
    jsonrpc: '2.0',
    id: 1,
    result: { resultType: 'complete', _meta: { ...subscription, ...server } },
  });
  await closed;
});

const refused: readonly [
  sentence: string,
  method: string,
  params: Record<string, unknown>,
  change: Change,
  status: number,
  code: number,
][] = [
  ['no Mcp-Method', 'tools/list', {}, { headers: { 'mcp-method': null } }, 400, -32020],
  ['another Mcp-Method', 'tools/list', {}, { headers: { 'mcp-method': 'tools/call' } }, 400, -32020],
  ['no Mcp-Name', 'tools/call', { name: 'echo' }, { headers: { 'mcp-name': null } }, 400, -32020],
  ['another Mcp-Name', 'tools/call', { name: 'echo' }, { headers: { 'mcp-name': 'seq' } }, 400, -32020],
  ['no version header', 'tools/list', {}, { headers: { 'mcp-protocol-version': null } }, 400, -32020],
  [
    'another version in the header',
    'tools/list',
    {},
    { headers: { 'mcp-protocol-version': '2025-11-25' } },
    400,
    -32020,
  ],
  [
    'no capabilities',
    'tools/list',
    {},
    { meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } },
    400,
    -32602,
  ],
  [
    'no version in the body',
    'tools/list',
    {},
    { meta: { 'io.modelcontextprotocol/protocolVersion': undefined } },
    400,
    -32602,
  ],
  ['initialize', 'initialize', { protocolVersion: '2025-11-25' }, {}, 404, -32601],
  ['ping', 'ping', {}, {}, 404, -32601],
  ['no filter', 'subscriptions/listen', {}, {}, 400, -32602],
  [
    'a revision that is not served',
    'tools/list',
    {},
    {
      headers: { 'mcp-protocol-version': '2031-01-01' },
      meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' },
    },
    400,
    -32022,
  ],
];

test('refused, with the status and code of the revision:', async (t) => {
  const it = await rig(t);
  for (const [sentence, method, params, change, status, code] of refused)
    await t.test(sentence, async () => {
      const res = await post(it, method, params, change);
      const { id, error } = (await res.json()) as { id: unknown; error: { code: number } };
      assert.deepEqual([res.status, id, error.code], [status, 1, code]);
    });
});

test('a name that is no ASCII is written in base64', async (t) => {
  const it = await rig(t);
  const encoded = `=?base64?${Buffer.from('größe').toString('base64')}?=`;
  const res = await post(it, 'tools/call', { name: 'größe' }, { headers: { 'mcp-name': encoded } });
  assert.equal(res.status, 200);
  assert.equal(it.core.calls[0]?.name, 'größe');
});

test('GET is not of this revision', async (t) => {
  const { url } = await rig(t);
  const headers = {
    authorization: `Bearer ${token}`,
    'mcp-protocol-version': version,
    accept: 'text/event-stream',
  };
  assert.equal((await fetch(url, { headers })).status, 405);
});
