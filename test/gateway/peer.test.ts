/** Where a call runs that brings no folder: that of the process at the other end of the socket. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { createPeers } from '../../src/gateway/peer.ts';
import { needs } from '../support/real.ts';
import { token, world, type Result } from './support.ts';

async function caller(t: TestContext, socket: string, cwd: string) {
  const child = spawn(process.execPath, [path.resolve('test/fixtures/mcp/socket-caller.ts'), socket, token], {
    cwd,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    cd: (folder: string) => child.stdin.write(`cd ${folder}\n`),
    async call(tool: string, query = ''): Promise<Result> {
      child.stdin.write(`call ${tool} ${query}\n`);
      const { value } = await lines.next();
      return (JSON.parse(String(value)) as { result: Result }).result;
    },
  };
}

const said = ({ content, isError, structuredContent }: Result) =>
  isError ? structuredContent?.['reason_code'] : content[0]?.text;

test('its folder at the time of the call, checked as what a client names', needs('linux'), async (t) => {
  const it = world(t, (config) =>
    config
      .replace('mcp:\n', `mcp:\n  socket: /run-of-this-test\n`)
      .replace('/run-of-this-test', path.join(os.tmpdir(), `peer-${process.pid}`, 'gateway.sock'))
      .replace(
        '  nothing:',
        `  home_pwd:\n    binary: /usr/bin/pwd\n    working_dir: /usr\n    allow: [{}]\n  nothing:`,
      ),
  );
  t.after(() => fs.rmSync(path.join(os.tmpdir(), `peer-${process.pid}`), { recursive: true, force: true }));
  const gateway = await it.serve();
  const below = path.join(it.src, 'below');
  fs.mkdirSync(below);
  const client = await caller(t, gateway.ready.socket ?? '', below);
  assert.equal(said(await client.call('pwd')), `${below}\n`);
  client.cd(it.src);
  assert.equal(said(await client.call('pwd')), `${it.src}\n`);
  assert.equal(said(await client.call('pwd', `cwd=${below}`)), `${below}\n`, 'what it names wins');
  assert.equal(said(await client.call('home_pwd')), `${it.src}\n`, 'and it wins over working_dir');
  client.cd('/etc');
  assert.equal(said(await client.call('pwd')), 'cwd_outside_roots');
  assert.equal(said(await client.call('home_pwd')), 'cwd_outside_roots', 'nothing falls back');
  client.cd(below);
  await client.call('pwd');
  fs.rmdirSync(below);
  assert.equal(said(await client.call('pwd')), 'cwd_not_found');
  assert.doesNotMatch(gateway.stderr(), /can't be read/);
});

/** Both ends of a connection that another process made, with that process. */
async function connected(t: TestContext, script: string) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-peer-'));
  const file = path.join(dir, 's');
  const server = net.createServer().listen(file);
  await once(server, 'listening');
  const child = spawn(process.execPath, ['-e', script, file], {
    cwd: dir,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  t.after(() => {
    child.kill('SIGKILL');
    socket.destroy();
    server.close();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  return { dir: fs.realpathSync(dir), socket, child };
}

test(
  'of a process that has ended nothing is known, though its connection lives on',
  needs('linux'),
  async (t) => {
    const peers = createPeers((line) => assert.fail(line));
    // The child of the one that connected holds the connection.
    const script = `const s = require('net').connect(process.argv[1], () => {
    require('child_process').spawn('sleep', ['30'], { stdio: ['ignore', 'ignore', 'ignore', s._handle.fd], detached: true }).unref();
    process.stdin.on('data', () => process.exit());
  })`;
    const { dir, socket, child } = await connected(t, script);
    assert.equal(await peers.cwd(socket), dir);
    child.stdin.write('end\n');
    await once(child, 'exit');
    assert.equal(await peers.cwd(socket), null);
  },
);

test('a peer on TCP has none', needs('linux'), async (t) => {
  const peers = createPeers((line) => assert.fail(line));
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as net.AddressInfo).port);
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  t.after(() => {
    client.destroy();
    server.close();
  });
  assert.equal(await peers.cwd(socket), null);
});
