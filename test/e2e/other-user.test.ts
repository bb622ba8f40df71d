/** The operator is no root: an account of its own, with uid 1500, runs whole sessions, and every file is that user's. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { lstatSync, readdirSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inside } from '../../src/up/runtime/runtime.ts';
import { account, type Account } from '../support/account.ts';
import { needs } from '../support/real.ts';
import { leftOf } from './left.ts';
import { finish, gitConfig, seen, until, type Place } from './place.ts';
import { allRuntimes, readyPlace } from './session.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const uid = 1500;

type Mine = { readonly where: Place; readonly start: (...args: readonly string[]) => ChildProcess };

/** Runs inside: makes files itself, and asks the gateway to make one. */
const client = `
import http from 'node:http';
const send = (body, session) => new Promise((resolve, reject) => {
  const req = http.request({ socketPath: '${inside.socket}', method: 'POST', path: '/mcp', headers: {
    host: 'localhost', authorization: 'Bearer ' + process.env.WRAPTOOL_TOKEN, 'content-type': 'application/json',
    accept: 'application/json, text/event-stream', ...session } }, (res) => {
    let text = ''; res.setEncoding('utf8'); res.on('data', (part) => (text += part));
    res.on('end', () => resolve({ text, session: { 'mcp-session-id': res.headers['mcp-session-id'] } }));
  });
  req.on('error', reject);
  req.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }));
});
const { session } = await send({ method: 'initialize', params: {
  protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'one', version: '1' } } });
const { text } = await send({ method: 'tools/call', params: { name: 'touch', arguments: { args: ['by-gateway'] } } }, session);
if (text.includes('"isError":true')) console.log(text);
`;

const script = `id -u; id -g
  umask 022; mkdir folder && echo made > folder/by-harness && ln -s folder link && echo mine > ~/in-home
  ${inside.node} .client.mjs && rm .client.mjs
  git add -A && git -c user.name=a -c user.email=a@example.org commit -qm second && git log --format=%s`;

/** Every path of a folder, itself too, that is not the account's. */
function foreign(dir: string): string[] {
  const all = [
    dir,
    ...readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => path.join(dir, name)),
  ];
  return all.filter((file) => {
    const found = lstatSync(file);
    return found.uid !== uid || found.gid !== uid;
  });
}

async function mine(t: TestContext, runtime: string): Promise<Mine> {
  const user: Account = account(t, uid);
  const where = await readyPlace(t, runtime);
  const tmp = path.join(where.dir, 'tmp');
  await mkdir(tmp);
  await writeFile(path.join(where.workspace, '.client.mjs'), client);
  await where.writeConfig(
    `${gitConfig}  touch: { binary: /usr/bin/touch, allow: [{ args: [{ enum: [by-gateway] }] }] }\nup: { base_image: wraptool-test-base, network: none }\n`,
  );
  assert.equal(spawnSync('chown', ['-R', `${uid}:${uid}`, where.dir]).status, 0);
  const [file, ...words] = user.as;
  return {
    where,
    start: (...args) =>
      spawn(file!, [...words, process.execPath, main, ...args], {
        cwd: where.workspace,
        env: { ...where.env, TMPDIR: tmp, USER: user.name },
        stdio: 'pipe',
      }),
  };
}

for (const { name: runtime, part } of allRuntimes) {
  void test(
    `${runtime}: what the harness, git and a call of the gateway make is the user's, and nothing is left`,
    needs('other-user', part),
    async (t) => {
      const { where, start } = await mine(t, runtime);
      const name = `other-${process.pid}`;
      const done = await finish(
        start('up', 'shell', '--runtime', runtime, '--name', name, '--', '-c', script),
        '',
      );
      assert.deepEqual(
        { code: done.code, stdout: done.stdout },
        { code: 0, stdout: `${uid}\n${uid}\nsecond\nfirst\n` },
        done.stderr,
      );
      assert.equal(await readFile(path.join(where.workspace, 'folder', 'by-harness'), 'utf8'), 'made\n');
      assert.ok(lstatSync(path.join(where.workspace, 'by-gateway')).isFile());
      // HOME with the harness's, its state and log; the run folder; the workspace with its repository.
      assert.deepEqual(foreign(where.dir), []);
      assert.deepEqual(readdirSync(path.join(where.dir, 'tmp')), []);
      assert.deepEqual(await leftOf(where, name, runtime === 'devcontainer'), []);
    },
  );

  void test(
    `${runtime}: what is left of a session that was killed, the same user's next command reclaims`,
    needs('other-user', part),
    async (t) => {
      const { where, start } = await mine(t, runtime);
      const name = `other-${process.pid}`;
      const words = ['--', '-c', 'echo harness-is-ready; exec sleep 600'];
      const child = start('up', 'shell', '--runtime', runtime, '--name', name, ...words);
      const ended = finish(child, '');
      await Promise.race([
        seen(child.stdout, /harness-is-ready/),
        ended.then(({ stderr }) => assert.fail(stderr)),
      ]);
      child.kill('SIGKILL');
      await ended;
      await until(
        'nothing is left',
        async () => {
          const { code } = await finish(start('ps'), '');
          return code === 0 && (await leftOf(where, name, runtime === 'devcontainer')).length === 0;
        },
        60_000,
      );
      assert.deepEqual(foreign(where.dir), []);
    },
  );
}
