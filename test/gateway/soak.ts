/** 10,000 calls by 64 clients that cancel, leave in the middle and hold half-open connections: nothing is left of them. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { needs } from '../support/real.ts';
import { heapOf } from '../support/heap.ts';
import { until } from '../support/until.ts';
import { rawClient, type RawClient } from './raw.ts';
import { records } from './records.ts';
import { world } from './support.ts';

const clients = 64;
const warmUp = 2_000;
const calls = 10_000;

/** What a call does, by its number; each gives how many calls were made of it. */
const deeds: readonly ((client: RawClient, id: number) => Promise<unknown>)[] = [
  (client, id) => client.call(id, 'seq', { args: ['3'] }),
  (client, id) => client.call(id, 'up__echo', { value: id }),
  (client, id) => client.call(id, 'wraptool_run', { tool: 'seq', argv: ['--rm'] }),
  (client, id) => client.call(id, 'up__echo', { value: 'x'.repeat(2_000) }),
  async (client, id) => {
    let answer: string | null = null;
    const running = client.call(id, 'up__wait', {}).then((text) => (answer = text));
    // One that comes before its call changes nothing.
    while (answer === null) {
      await client.cancel(id);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.match(await running, /cancelled/);
  },
  (client, id) => client.call(id, 'wraptool_run', { tool: 'echo', argv: [String(id)] }),
  (client, id) => client.call(id, 'up__nothing', {}),
  (client) => client.abandon('up__wait', {}),
  (client, id) => client.call(id, 'wraptool_discover', {}),
  (client, id) => client.call(id, 'no_such_tool', {}),
];

type Load = { readonly descriptors: number; readonly children: number };

function load(pid: number): Load {
  return { descriptors: fs.readdirSync(`/proc/${pid}/fd`).length, children: descendants(pid) };
}

function descendants(pid: number): number {
  const tasks = fs.readdirSync(`/proc/${pid}/task`);
  const lists = tasks.map((task) => fs.readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8'));
  const children = lists.flatMap((list) =>
    list
      .split(' ')
      .filter((one) => one !== '')
      .map(Number),
  );
  return children.reduce(
    (sum, child) => sum + 1 + (fs.existsSync(`/proc/${child}`) ? descendants(child) : 0),
    0,
  );
}

test('nothing leaks, and every call is logged once before and once after', needs('linux'), async (t) => {
  const server = {
    command: process.execPath,
    args: [path.resolve('test/fixtures/mcp/server.ts')],
    allow: ['echo', 'wait'],
    start: 'eager',
    timeout: '60s',
  };
  const it = world(t, (config) => `${config}mcp_servers:\n  up: ${JSON.stringify(server)}\n`);
  const { ready, stderr } = await it.serve({ env: { NODE_OPTIONS: '--inspect=127.0.0.1:0' } });
  const url = ready.url ?? '';
  let next = 0;
  const drive = async (until: number) => {
    const made = await Promise.all(
      Array.from({ length: clients }, () => rawClient(url, `?cwd=${encodeURIComponent(it.src)}`)),
    );
    await Promise.all(
      made.map(async (client) => {
        while (next < until) {
          const id = (next += 1);
          await deeds[id % deeds.length]!(client, id);
        }
      }),
    );
    await Promise.all(made.map((client) => client.end()));
  };
  const settled = async () => {
    // Connections that are kept alive, calls that were abandoned.
    await until('all calls have their end', async () => (await open(it.log)) === 0, 60_000);
    let last = load(ready.pid);
    await until('it comes to rest', async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const before = last;
      last = load(ready.pid);
      return last.descriptors === before.descriptors && last.children === before.children;
    });
    return { ...last, ...(await heap(stderr(), ready.pid)) };
  };
  await drive(warmUp);
  const before = await settled();
  const halfOpen = Array.from({ length: 32 }, () => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le');
    return socket;
  });
  await drive(warmUp + calls);
  for (const socket of halfOpen) socket.destroy();
  const after = await settled();
  t.diagnostic(JSON.stringify({ before, after }));
  assert.deepEqual(
    [after.descriptors <= before.descriptors, after.children],
    [true, before.children],
    JSON.stringify({ before, after }),
  );
  assert.ok(after.usedMiB <= before.usedMiB * 1.1, JSON.stringify({ before, after }));
  await checkLog(it.log, warmUp + calls);
});

/** Of the gateway: its helper listens for an inspector too. */
async function heap(stderr: string, pid: number) {
  const urls = [...stderr.matchAll(/ws:\/\/\S+/g)].map(([url]) => url);
  const heaps = await Promise.all(urls.map(heapOf));
  return heaps.find((one) => one.pid === pid)!;
}

/** Calls that were allowed and have no end yet. */
async function open(dir: string): Promise<number> {
  let count = 0;
  for (const record of await records(dir)) {
    if (record.event === 'decided' && record.decision === 'allow') count += 1;
    if (record.event === 'finished') count -= 1;
  }
  return count;
}

async function checkLog(dir: string, made: number): Promise<void> {
  const counts = { received: 0, discover: 0, decided: 0, allowed: 0, finished: 0 };
  const twice = new Set<string>();
  const seen = new Set<string>();
  for (const record of await records(dir)) {
    if (record.event === 'received') {
      counts.received += 1;
      if (record.name === 'wraptool_discover') counts.discover += 1;
    }
    if (record.event !== 'decided' && record.event !== 'finished') continue;
    const key = `${record.event} ${record.call}`;
    if (seen.has(key)) twice.add(key);
    seen.add(key);
    counts[record.event] += 1;
    if (record.event === 'decided' && record.decision === 'allow') counts.allowed += 1;
  }
  assert.deepEqual([...twice], []);
  assert.deepEqual(counts, {
    received: made,
    discover: made / 10,
    decided: made - made / 10,
    allowed: (made / 10) * 6,
    finished: (made / 10) * 6,
  });
}
