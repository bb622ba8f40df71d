/** The relay before the real gateway of a session: what its log proves after it was killed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { readLog, verifyLog } from '../../src/log/read.ts';
import { call, textOf, token, world, type World } from '../gateway/support.ts';

function session(it: World) {
  const dir = path.join(it.dir, 'run', 'calm-otter');
  fs.mkdirSync(path.join(dir, 'socket'), { recursive: true, mode: 0o700 });
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const facts = { name: 'calm-otter', id: '0011', workspace: it.src, roots: [it.src], owner, remotes: {} };
  fs.writeFileSync(path.join(dir, 'session.json'), JSON.stringify(facts));
  return {
    socket: path.join(dir, 'socket', 'gateway.sock'),
    start: () =>
      it.serve({
        args: ['serve', '--session', 'calm-otter', '--config', it.config, '--json'],
        env: { WRAPTOOL_SESSION_DIR: dir },
        stdin: 'pipe',
      }),
  };
}

async function client(t: TestContext, socket: string, cwd: string): Promise<Client> {
  const connected = new Client({ name: 'sdk', version: '1' });
  await connected.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [path.resolve('src/relay/main.ts'), socket],
      env: { WRAPTOOL_TOKEN: token },
      cwd,
    }),
  );
  t.after(() => connected.close());
  return connected;
}

async function count(it: World, event: string): Promise<number> {
  let found = 0;
  for await (const { record } of readLog(it.log)) if (record.event === event) found += 1;
  return found;
}

test('the relay’s own folder is the working directory of a call', async (t) => {
  const it = world(t);
  const { start, socket } = session(it);
  await start();
  fs.mkdirSync(path.join(it.src, 'below it'));
  const connected = await client(t, socket, path.join(it.src, 'below it'));
  assert.equal(textOf(await call(connected, 'pwd')), `${it.src}/below it\n`);
});

test('a call that was running when the gateway was killed is not run again, and is said to be unknown', async (t) => {
  const it = world(t);
  const { start, socket } = session(it);
  const gateway = await start();
  const connected = await client(t, socket, it.src);
  const sleeping = call(connected, 'sleep', { args: ['3'] });
  while ((await count(it, 'decided')) === 0);
  gateway.child.kill('SIGKILL');
  await once(gateway.child, 'exit');
  await start();
  const result = await sleeping;
  assert.equal(
    textOf(result),
    'the gateway was restarted while this call ran: whether it ended is unknown, and it was not run again',
  );
  assert.equal(result.isError, true);
  assert.equal(await count(it, 'decided'), 1);
  assert.deepEqual(
    (await verifyLog(it.log)).flatMap(({ problems }) => problems),
    [],
  );
});

test('a gateway killed again and again loses no call that comes between', async (t) => {
  const it = world(t);
  const { start, socket } = session(it);
  let gateway = await start();
  const connected = await client(t, socket, it.src);
  for (let round = 0; round < 3; round += 1) {
    assert.equal(textOf(await call(connected, 'seq', { args: ['1'] })), '1\n');
    gateway.child.kill('SIGKILL');
    await once(gateway.child, 'exit');
    const waiting = [1, 2, 3].map((n) => call(connected, 'echo', { args: [`${round}-${n}`] }));
    gateway = await start();
    assert.deepEqual((await Promise.all(waiting)).map(textOf), [
      `${round}-1\n`,
      `${round}-2\n`,
      `${round}-3\n`,
    ]);
  }
});
