/** The inspector, and the SDK of both lines in all their modes, against a real gateway with an upstream server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import {
  Client as ClientV2,
  SSEClientTransport as SseV2,
  StreamableHTTPClientTransport as HttpV2,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { until } from '../support/until.ts';
import { connect, token, world } from './support.ts';

const inspector = path.resolve('node_modules/.bin/mcp-inspector');
const headers = { authorization: `Bearer ${token}` };
const fixture = path.resolve('test/fixtures/mcp/server.ts');

async function start(t: TestContext): Promise<string> {
  const server = { command: process.execPath, args: [fixture], allow: ['echo'], start: 'eager' };
  const it = world(t, (config) => `${config}mcp_servers:\n  up: ${JSON.stringify(server)}\n`);
  const url = (await it.serve()).ready.url ?? '';
  const client = await connect(t, url);
  await until('the server is listed', async () =>
    (await client.listTools()).tools.some(({ name }) => name === 'up__echo'),
  );
  return url;
}

const run = promisify(execFile);

async function inspect(url: string, transport: 'http' | 'sse', ...args: string[]): Promise<string> {
  const where = transport === 'sse' ? url.replace('/mcp', '/sse') : url;
  const { stdout } = await run(
    process.execPath,
    [
      inspector,
      '--cli',
      where,
      '--transport',
      transport,
      '--header',
      `Authorization: Bearer ${token}`,
      ...args,
    ],
    { env: { ...process.env, NO_COLOR: '1' } },
  );
  return stdout;
}

for (const transport of ['http', 'sse'] as const)
  test(`the inspector over ${transport}: a strict list, a command and an upstream tool`, async (t) => {
    const url = await start(t);
    const list = JSON.parse(await inspect(url, transport, '--method', 'tools/list', '--strict')) as {
      tools: { name: string }[];
    };
    assert.deepEqual(
      list.tools.map(({ name }) => name),
      [
        'cat',
        'echo',
        'pwd',
        'seq',
        'sleep',
        'up__echo',
        'wraptool_discover',
        'wraptool_request_capability',
        'wraptool_run',
      ],
    );
    const called = await inspect(
      url,
      transport,
      '--method',
      'tools/call',
      '--tool-name',
      'up__echo',
      '--tool-arg',
      'value=hi',
    );
    assert.match(called, /\{\\"value\\":\\"hi\\"\}/);
  });

type Any = {
  connect(transport: never): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: never): Promise<unknown>;
};

const v1 = () => new Client({ name: 'v1', version: '1' }) as unknown as Any;
const v2 = (mode?: 'auto' | { pin: string }) =>
  new ClientV2(
    { name: 'v2', version: '2' },
    mode === undefined ? {} : { versionNegotiation: { mode } },
  ) as unknown as Any;

const sse = {
  requestInit: { headers },
  eventSourceInit: {
    fetch: (input: string | URL | Request, init?: RequestInit) =>
      fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } }),
  },
};

const clients: readonly [string, () => Any, (url: URL) => unknown][] = [
  [
    'v1 over Streamable HTTP',
    v1,
    (url) => new StreamableHTTPClientTransport(url, { requestInit: { headers } }),
  ],
  ['v1 over SSE', v1, (url) => new SSEClientTransport(new URL('/sse', url), sse)],
  ['v2 as it comes', () => v2(), (url) => new HttpV2(url, { requestInit: { headers } })],
  ['v2 that negotiates', () => v2('auto'), (url) => new HttpV2(url, { requestInit: { headers } })],
  [
    'v2 pinned to 2026-07-28',
    () => v2({ pin: '2026-07-28' }),
    (url) => new HttpV2(url, { requestInit: { headers } }),
  ],
  ['v2 over SSE', () => v2(), (url) => new SseV2(new URL('/sse', url), sse as never)],
];

test('the SDK’s clients list and call, each in its own revision', async (t) => {
  const url = new URL(await start(t));
  for (const [name, make, transport] of clients)
    await t.test(name, async () => {
      const client = make();
      await client.connect(transport(url) as Transport as never);
      assert.equal((await client.listTools()).tools.length, 9);
      const call = async (tool: string, args: object) =>
        ((await client.callTool({ name: tool, arguments: args } as never)) as { content: { text: string }[] })
          .content[0]?.text;
      assert.equal(await call('up__echo', { value: 'hi' }), '{"value":"hi"}');
      assert.match((await call('seq', { args: ['x'] })) ?? '', /^DENIED/);
      await client.close();
    });
});
