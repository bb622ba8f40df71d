/** From inside a runtime that shares the host's network: no page, no data, no login. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { readLedger } from '../../src/requests/read.ts';
import { inside } from '../../src/up/runtime/runtime.ts';
import { finish, gitConfig, place } from '../e2e/place.ts';
import { pathWithGuix } from '../support/guix.ts';
import { needs } from '../support/real.ts';
import { until } from '../support/until.ts';
import { send, visitor } from './support.ts';

/** Runs inside, with the port told: looks for the page, then for anything that would let it in. */
const attempts = `
import fs from 'node:fs';
import http from 'node:http';
const port = Number(fs.readFileSync('.port', 'utf8'));
const token = process.env.WRAPTOOL_TOKEN;
const ask = (path, { method = 'GET', headers = {}, body } = {}) => new Promise((resolve) => {
  const req = http.request({ host: '127.0.0.1', port, path, method, headers: { 'content-type': 'application/json', ...headers } }, (res) => {
    let text = ''; res.setEncoding('utf8'); res.on('data', (part) => (text += part));
    res.on('end', () => resolve({ status: res.statusCode, text }));
  });
  req.on('error', (error) => resolve({ status: 0, text: String(error) }));
  req.end(body === undefined ? undefined : JSON.stringify(body));
});
const said = [];
const bearers = [{}, { authorization: 'Bearer ' + token }, { authorization: 'Bearer ' + 'A'.repeat(43) }];
for (const headers of bearers)
  for (const path of ['/', '/index.html', '/main.js', '/api/requests', '/api/events', '/api/tools', '/api/log', '/api/login', '/admin', '/..', '//', '/' + '0'.repeat(32) + '/api/requests'])
    said.push({ path, ...(await ask(path, { headers })) });
for (const secret of ['', token, 'A'.repeat(43)])
  for (const path of ['/api/login', '/login', '/' + '0'.repeat(32) + '/api/login'])
    said.push({ path, ...(await ask(path, { method: 'POST', body: { secret } })) });
const readable = [];
const walk = (dir, depth) => {
  let names = [];
  try { names = fs.readdirSync(dir); } catch { return; }
  for (const name of names) {
    const file = dir + '/' + name;
    if (name === '.admin' || name === 'control.sock') readable.push(file);
    if (depth > 0) walk(file, depth - 1);
  }
};
for (const dir of ['/run', '/tmp', process.env.HOME, process.env.XDG_RUNTIME_DIR ?? '/run', ...JSON.parse(fs.readFileSync('.dirs', 'utf8'))]) walk(dir, 4);
console.log('RESULT ' + JSON.stringify({ said, readable, environment: Object.values(process.env).filter((value) => value.includes('#login=') || value.includes(':' + port)) }));
`;

for (const { runtime, part } of [
  { runtime: 'bubblewrap', part: 'bubblewrap' },
  { runtime: 'guix', part: 'guix' },
] as const)
  test(
    `${runtime}, network: host: the page is there for the operator, and nothing of it for the agent`,
    needs(part),
    async (t) => {
      const where = await place(t);
      if (runtime === 'guix') where.env['PATH'] = pathWithGuix(where.env['PATH']);
      await where.writeConfig(`${gitConfig}admin: {}\nup: { network: host }\n`);
      await writeFile(path.join(where.workspace, 'attempt.mjs'), attempts);
      const script = `while [ ! -f .dirs ]; do sleep 0.1; done; ${inside.node} attempt.mjs; while [ ! -f .end ]; do sleep 0.1; done`;
      const child = where.start(['up', 'shell', '--runtime', runtime, '--name', 'page', '--', '-c', script]);
      let said = '';
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
      let printed = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text));
      const result = finish(child, '');
      t.after(async () => {
        child.kill('SIGTERM');
        await result;
      });
      // The start of `up` gives the link.
      const link = await until('the link', () => /http:\S+#login=[\w-]{43}/.exec(said)?.[0], 50_000);
      const { port } = new URL(link);
      await writeFile(path.join(where.workspace, '.port'), port);
      const dirs = [path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool'), where.home];
      await writeFile(path.join(where.workspace, '.dirs'), JSON.stringify(dirs));
      const line = await until('what it found', () => /RESULT (.*)\n/.exec(printed)?.[1], 30_000);
      const found = JSON.parse(line) as {
        said: { path: string; status: number; text: string }[];
        readable: string[];
        environment: string[];
      };
      assert.ok(found.said.length > 40);
      for (const { path: asked, status, text } of found.said) {
        // It is the same network: the listener answers, and tells nothing.
        assert.equal(status, 404, `${asked}: ${text}`);
        assert.deepEqual(JSON.parse(text), {
          error: { code: 'not_found', message: 'there is nothing here', hint: null, problems: [] },
        });
      }
      assert.deepEqual([found.readable, found.environment], [[], []]);
      // For the operator it is there, and the session in it.
      const visit = await visitor(link);
      assert.match((await visit('sessions')).text, /"name":"page"/);
      assert.match((await visit('sessions/page')).text, /"runtime"/);
      assert.match((await visit('restart?namespace=page')).text, /"confirmation_phrase":"restart page"/);
      const asked = await visit('restart', { namespace: 'page', mode: 'restart', confirm: 'restart page' });
      assert.equal(asked.json['reason_code'], 'operator_authorization_missing');
      const ledger = readLedger(path.join(where.home, '.local/state/wraptool/log'));
      await ledger.refresh();
      assert.equal(ledger.ledger.grants.size, 0);
      // Nothing of the page's secrets is kept in a file.
      const session = path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool', 'page');
      for (const file of ['session.json', 'gateway.log', 'events.jsonl'])
        assert.doesNotMatch(readFileSync(path.join(session, file), 'utf8'), /login=/);
      await writeFile(path.join(where.workspace, '.end'), '');
      assert.equal((await result).code, 0);
      await assert.rejects(send(link), /ECONNREFUSED/);
    },
  );
