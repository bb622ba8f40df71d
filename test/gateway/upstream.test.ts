/** Upstream servers behind a real gateway: filter, log, result, list, pins. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  LoggingMessageNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { until } from '../support/until.ts';
import { eventsOf } from './records.ts';
import { call, connect, main, textOf, token, world, type World } from './support.ts';

const fixture = path.resolve('test/fixtures/mcp/server.ts');

type Server = { flags?: string[]; allow: string[]; deny?: string[]; start?: string };

function withServers(servers: Readonly<Record<string, Server>>) {
  const lines = Object.entries(servers).map(
    ([name, { flags = [], allow, deny = [], start = 'eager' }]) =>
      `  ${name}: ${JSON.stringify({ command: process.execPath, args: [fixture, ...flags], allow, deny, start, timeout: '20s' })}`,
  );
  return (config: string) => `${config}mcp_servers:\n${lines.join('\n')}\n`;
}

async function start(t: TestContext, servers: Readonly<Record<string, Server>>) {
  const it = world(t, withServers(servers));
  const gateway = await it.serve();
  const client = await connect(t, gateway.ready.url ?? '', it.src);
  return { it, gateway, client };
}

const upstreamNames = async (client: Client) =>
  (await client.listTools()).tools.map(({ name }) => name).filter((name) => name.includes('__'));

async function listed(client: Client, ...names: string[]): Promise<void> {
  await until(
    'the tools are listed',
    async () => JSON.stringify(await upstreamNames(client)) === JSON.stringify(names),
  );
}

test('what is allowed is offered with its own schema, runs, and is logged before and after', async (t) => {
  const { it, client } = await start(t, { up: { allow: ['echo', 'every', 'wait'], deny: ['wait'] } });
  await listed(client, 'up__echo', 'up__every');
  const { tools } = await client.listTools();
  const echo = tools.find(({ name }) => name === 'up__echo');
  assert.deepEqual(echo?.inputSchema, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { value: { $ref: '#/$defs/value' } },
    $defs: { value: { type: 'string' } },
    'x-unknown': { kept: [1, null] },
  });
  const result = await call(client, 'up__echo', { value: 'hi', other: [1] });
  assert.deepEqual(result, {
    content: [{ type: 'text', text: '{"value":"hi","other":[1]}' }],
    structuredContent: { value: 'hi', other: [1] },
    isError: false,
  });
  const [received] = await eventsOf(it.log, 'received');
  assert.deepEqual(
    [received?.name, received?.tool, received?.argv, received?.arguments],
    ['up__echo', null, null, '{"value":"hi","other":[1]}'],
  );
  const [decided] = await eventsOf(it.log, 'decided');
  assert.deepEqual(
    [decided?.decision, decided?.tool, decided?.reason, decided?.rule],
    ['allow', 'up__echo', null, null],
  );
  const [finished] = await eventsOf(it.log, 'finished');
  assert.deepEqual([finished?.outcome, finished?.cancelled, finished?.output_chars], ['answered', false, 26]);
});

test('what is denied, not named, or of no server is refused by its own reason, and logged', async (t) => {
  const { it, client } = await start(t, { up: { allow: ['echo', 'wait'], deny: ['wait'] } });
  const reasons = async (name: string) => {
    const { isError, structuredContent } = await call(client, name);
    return [isError, structuredContent?.['reason_code']];
  };
  assert.deepEqual(await reasons('up__wait'), [true, 'upstream_tool_not_allowed']);
  assert.deepEqual(await reasons('up__environment'), [true, 'upstream_tool_not_allowed']);
  assert.deepEqual(await reasons('up__'), [true, 'upstream_tool_not_allowed']);
  assert.deepEqual(await reasons('down__echo'), [true, 'tool_not_allowed']);
  assert.match(
    textOf(await call(client, 'up__wait')),
    /^DENIED: 'up__wait' is not permitted\.\n\nPolicy: tool 'wait' of upstream server 'up' is not in its allowlist\./,
  );
  assert.deepEqual(
    (await eventsOf(it.log, 'decided')).map(({ reason }) => reason),
    [
      'upstream_tool_not_allowed',
      'upstream_tool_not_allowed',
      'upstream_tool_not_allowed',
      'tool_not_allowed',
      'upstream_tool_not_allowed',
    ],
  );
  assert.deepEqual(await eventsOf(it.log, 'finished'), []);
});

test('every kind of content comes through scrubbed, whoever the client is', async (t) => {
  const { client, gateway } = await start(t, { up: { allow: ['every'] } });
  // The SDK's own schema does not know a block of the future.
  const every = (from: Client) =>
    from.request(
      { method: 'tools/call', params: { name: 'up__every', arguments: { secret: 'correct-horse-battery' } } },
      z.looseObject({}),
    );
  const result = await every(client);
  assert.equal((result['content'] as unknown[]).length, 9);
  assert.equal(JSON.stringify(result).includes('correct-horse-battery'), false);
  const claude = new Client({ name: 'claude-code', version: '2' });
  await claude.connect(
    new StreamableHTTPClientTransport(new URL(gateway.ready.url ?? ''), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }) as Transport,
  );
  t.after(() => claude.close());
  // What a command gives is fitted to this client; what a server gives is not.
  assert.deepEqual(await every(claude), result);
});

test('progress keeps its numbers, log lines come where they are wanted', async (t) => {
  const { client } = await start(t, { up: { allow: ['progress', 'log'] } });
  const seen: unknown[] = [];
  await client.callTool({ name: 'up__progress', arguments: {} }, undefined, {
    onprogress: ({ progress, total, message }) => seen.push([progress, total, message]),
  });
  assert.deepEqual(seen, [
    [0, 100, 'at 0'],
    [50, 100, 'at 50'],
    [100, 100, 'at 100'],
  ]);
  const lines: unknown[] = [];
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params }) => void lines.push(params.data),
  );
  await call(client, 'up__log', { data: 'one' });
  await client.setLoggingLevel('error');
  await call(client, 'up__log', { data: 'two' });
  await client.setLoggingLevel('debug');
  await call(client, 'up__log', { data: 'three' });
  assert.deepEqual(lines, ['one', 'three']);
});

test('a cancelled call is cancelled at the server too', async (t) => {
  const { it, gateway, client } = await start(t, { up: { allow: ['wait'] } });
  const stop = new AbortController();
  const waiting = client.callTool({ name: 'up__wait', arguments: {} }, undefined, { signal: stop.signal });
  await until('the call runs', async () => (await eventsOf(it.log, 'decided')).length === 1);
  await until('the server runs', () => gateway.stderr().includes('runs as pid'));
  stop.abort();
  await assert.rejects(waiting);
  await until('the call has ended', async () => (await eventsOf(it.log, 'finished')).length === 1);
  assert.equal((await eventsOf(it.log, 'finished'))[0]?.cancelled, true);
});

test('a server that takes long to start delays nothing else, and is told when it is there', async (t) => {
  const { client } = await start(t, {
    slow: { flags: ['--delay', '2000'], allow: ['echo'] },
    quick: { allow: ['echo'] },
  });
  let changed = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changed += 1));
  const began = performance.now();
  assert.equal(textOf(await call(client, 'quick__echo', { value: '1' })), '{"value":"1"}');
  assert.equal(textOf(await call(client, 'seq', { args: ['1'] })), '1\n');
  const { allowed, state } = discovered(await call(client, 'wraptool_discover'), 'slow');
  if (performance.now() - began < 1_500) assert.deepEqual([allowed, state], [[], 'starting']);
  await listed(client, 'quick__echo', 'slow__echo');
  await until('the client was told', () => changed > 0);
});

function discovered(result: Awaited<ReturnType<typeof call>>, server: string) {
  const { mcp_servers: servers } = result.structuredContent as {
    mcp_servers: Record<string, { allowed: string[]; state: string; note?: string }>;
  };
  return servers[server]!;
}

const cli = (it: World, ...args: string[]) =>
  execFileSync(process.execPath, [main, 'mcp', ...args, '--config', it.config, '--json'], {
    env: it.env,
    encoding: 'utf8',
  });

test('a tool that changed is hidden until the operator accepts it from another process', async (t) => {
  const { it, client, gateway } = await start(t, { up: { allow: ['echo', 'redescribe'] } });
  await listed(client, 'up__echo', 'up__redescribe');
  await call(client, 'up__redescribe', { description: 'sends everything to us' });
  await listed(client);
  const refused = await call(client, 'up__echo', {});
  assert.equal(refused.structuredContent?.['reason_code'], 'upstream_tool_not_allowed');
  assert.match(
    discovered(await call(client, 'wraptool_discover'), 'up').note ?? '',
    /echo is hidden: its definition changed/,
  );
  assert.match(gateway.stderr(), /its tool 'echo' is hidden/);
  const rows = JSON.parse(cli(it, 'list')) as { tool: string; state: string }[];
  assert.deepEqual(
    rows.map(({ tool, state }) => [tool, state]),
    [
      ['echo', 'changed: hidden'],
      ['redescribe', 'changed: hidden'],
    ],
  );
  const { offered } = JSON.parse(cli(it, 'show', 'up', 'echo')) as { offered: { sha256: string } };
  assert.throws(() => cli(it, 'accept', 'up', 'echo'), { stdout: /no terminal to ask on/ });
  assert.throws(() => cli(it, 'accept', 'up', 'echo', '--sha256', 'ab'), { stdout: /changed again/ });
  cli(it, 'accept', 'up', 'echo', '--sha256', offered.sha256);
  await listed(client, 'up__echo');
});

test('nothing of a server is left when the gateway ends, and no folder of its own', async (t) => {
  const { it, client, gateway } = await start(t, { up: { allow: ['environment'] } });
  const { structuredContent } = await call(client, 'up__environment');
  const { cwd, pid, env } = structuredContent as { cwd: string; pid: number; env: Record<string, string> };
  assert.equal(path.dirname(path.dirname(cwd)), path.join(it.env['HOME']!, '.local/state/wraptool/serve'));
  assert.deepEqual(Object.keys(env).toSorted(), ['HOME', 'LANG', 'PATH']);
  await client.close();
  gateway.child.kill('SIGTERM');
  await until('the gateway has ended', () => gateway.child.exitCode !== null);
  assert.equal(fs.existsSync(`/proc/${pid}`), false);
  assert.deepEqual(fs.readdirSync(path.join(it.env['HOME']!, '.local/state/wraptool/serve')), []);
});
