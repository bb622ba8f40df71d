/** Another config for a running gateway, and what its clients and calls see of it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../support/until.ts';
import { eventsOf } from './records.ts';
import { call, connect, textOf, token, world, type World } from './support.ts';

async function start(t: TestContext) {
  const it = world(t);
  const gateway = await it.serve();
  const client = await connect(t, gateway.ready.url ?? '', it.src);
  return { it, gateway, client, text: fs.readFileSync(it.config, 'utf8') };
}

function save(it: World, text: string): void {
  fs.writeFileSync(`${it.config}.new`, text, { mode: 0o600 });
  fs.renameSync(`${it.config}.new`, it.config);
}

const more = (text: string) =>
  `${text}  more:\n    binary: /usr/bin/printf\n    allow: [{ args: [{ enum: [more] }] }]\n`;

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
const reloads = async (it: World) =>
  (await eventsOf(it.log, 'reload')).map(({ result, detail }) => [result, detail]);
const reloaded = (it: World, count = 1) =>
  until(`reload ${count} was logged`, async () => (await reloads(it)).length >= count);

/** A listening stream of the stateless revision; counts what it is told. */
async function subscription(t: TestContext, url: string) {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const res = await fetch(url, {
    method: 'POST',
    signal: stop.signal,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  let seen = '';
  void (async () => {
    for await (const chunk of res.body!.pipeThrough(new TextDecoderStream())) seen += chunk;
  })().catch((error: Error) => assert.equal(error.name, 'AbortError'));
  await until('it is acknowledged', () => seen.includes('acknowledged'));
  return () => seen.split('tools/list_changed').length - 1;
}

test('a tool that is added is told to clients of both eras, listed and callable', async (t) => {
  const { it, gateway, client, text } = await start(t);
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (told += 1));
  const subscribed = await subscription(t, gateway.ready.url ?? '');
  assert.equal((await names(client)).includes('more'), false);
  save(it, more(text));
  await until('both were told', () => told === 1 && subscribed() === 1);
  assert.equal((await names(client)).includes('more'), true);
  assert.equal(textOf(await call(client, 'more', { args: ['more'] })), 'more');
  assert.equal(textOf(await call(client, 'wraptool_run', { tool: 'more', argv: ['more'] })), 'more');
  assert.deepEqual(await reloads(it), [['swapped', null]]);
  save(it, `# only a comment\n${more(text)}`);
  await reloaded(it, 2);
  assert.deepEqual([told, subscribed()], [1, 1], 'nobody is told where the set is the same');
});

test('an invalid save changes no decision, is said and logged; the next valid one counts', async (t) => {
  const { it, gateway, client, text } = await start(t);
  const broken = [
    'version: 1\ntools: { x',
    text.replace('version: 1', 'version: 2'),
    text.replace('/usr/bin/seq', '/usr/bin/does-not-exist'),
    '',
  ];
  for (const [index, bad] of broken.entries()) {
    save(it, bad);
    await reloaded(it, index + 1);
    assert.equal(textOf(await call(client, 'seq', { args: ['1'] })), '1\n');
    assert.equal((await call(client, 'more')).structuredContent?.['reason_code'], 'tool_not_allowed');
  }
  assert.deepEqual(
    (await reloads(it)).map(([result]) => result),
    ['kept', 'kept', 'kept', 'kept'],
  );
  assert.match(gateway.stderr(), /the config ".*" has 1 problem: the running policy stays/);
  fs.rmSync(it.config);
  await until('the loss is told', () => gateway.stderr().includes('the running policy stays'));
  assert.equal(textOf(await call(client, 'seq', { args: ['1'] })), '1\n');
  save(it, more(text));
  await reloaded(it, 5);
  assert.equal(textOf(await call(client, 'more', { args: ['more'] })), 'more');
});

test('what is read at start waits and is named; the rest applies', async (t) => {
  const { it, gateway, client, text } = await start(t);
  fs.mkdirSync(path.join(it.dir, 'other'));
  save(
    it,
    more(text).replace(`[${it.src}]`, `[${it.dir}/other]`).replace(`log: ${it.log}`, `log: ${it.dir}/log2`),
  );
  await reloaded(it);
  assert.deepEqual(await reloads(it), [
    ['swapped', 'mcp.allowed_cwd_roots, requests.log changed: waits for a restart'],
  ]);
  assert.match(gateway.stderr(), /mcp\.allowed_cwd_roots, requests\.log changed: waits for a restart/);
  assert.equal(textOf(await call(client, 'more', { args: ['more'] })), 'more');
  assert.equal(textOf(await call(client, 'pwd')), `${it.src}\n`);
});

test('a command in flight ends under the policy that it began with', async (t) => {
  const { it, client, text } = await start(t);
  const sleeping = call(client, 'sleep', { args: ['2'] });
  await until('it runs', async () => (await eventsOf(it.log, 'decided')).length === 1);
  save(it, text.replace(/ {2}sleep:\n(?: {4}.*\n)+/, ''));
  await reloaded(it);
  assert.equal(
    (await call(client, 'sleep', { args: ['0'] })).structuredContent?.['reason_code'],
    'tool_not_allowed',
  );
  assert.equal((await eventsOf(it.log, 'finished')).length, 0, 'it still runs');
  assert.deepEqual((await sleeping).structuredContent?.['exit_code'], 0);
});

test('SIGHUP to the process called wraptool loads again, and resolves binaries anew', async (t) => {
  const { it, gateway, client, text } = await start(t);
  const { pid } = gateway.ready;
  assert.ok(execFileSync('pidof', ['wraptool'], { encoding: 'utf8' }).split(/\s/).includes(String(pid)));
  const own = path.join(it.dir, 'own');
  const install = (source: string) => {
    fs.copyFileSync(source, `${own}.new`);
    fs.chmodSync(`${own}.new`, 0o755);
    fs.renameSync(`${own}.new`, own);
  };
  install('/usr/bin/true');
  save(it, `${text}  own: { binary: ${own}, allow: [{}] }\n`);
  await reloaded(it);
  assert.equal((await call(client, 'own')).isError, false);
  install('/usr/bin/false');
  assert.match(textOf(await call(client, 'own')), /changed since the config was loaded/);
  process.kill(pid, 'SIGHUP');
  await reloaded(it, 2);
  assert.equal((await call(client, 'own')).structuredContent?.['exit_code'], 1);
  assert.deepEqual((await reloads(it)).at(-1), ['loaded', null]);
});

test('an upstream server comes and goes with the config', async (t) => {
  const { it, client, text } = await start(t);
  const server = (allow: string) =>
    `${text}mcp_servers:\n  up: { command: ${process.execPath}, args: [${path.resolve('test/fixtures/mcp/server.ts')}], allow: [${allow}], start: eager }\n`;
  save(it, server('echo'));
  await until('it is listed', async () => (await names(client)).includes('up__echo'));
  assert.equal(textOf(await call(client, 'up__echo', { value: 'a' })), '{"value":"a"}');
  save(it, server('wait'));
  await until('another one is', async () => !(await names(client)).includes('up__echo'));
  assert.equal(
    (await call(client, 'up__echo')).structuredContent?.['reason_code'],
    'upstream_tool_not_allowed',
  );
  save(it, text);
  await until('none is', async () => !(await names(client)).some((name) => name.includes('__')));
  assert.equal((await call(client, 'up__echo')).structuredContent?.['reason_code'], 'tool_not_allowed');
});
