/** An agent can’t approve itself: what it tries from inside a runtime, with its token and all that it can reach. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { readLedger } from '../../src/requests/read.ts';
import { inside } from '../../src/up/runtime/runtime.ts';
import { needs } from '../support/real.ts';
import { gitConfig, place } from './place.ts';

const runtimes = [
  { name: 'bubblewrap', part: 'bubblewrap' },
  { name: 'devcontainer', part: 'docker' },
] as const;

/** Runs inside: asks, then tries everything that might decide; says what was answered. */
const attempts = (paths: readonly string[]) => `
import http from 'node:http';
import fs from 'node:fs';
const token = process.env.WRAPTOOL_TOKEN;
const socketPath = ${JSON.stringify(inside.socket)};
const send = (method, url, body, headers = {}) => new Promise((resolve) => {
  const req = http.request({ socketPath, method, path: url, headers: {
    host: 'localhost', authorization: 'Bearer ' + token, 'content-type': 'application/json',
    accept: 'application/json, text/event-stream', ...headers } }, (res) => {
    let text = ''; res.setEncoding('utf8'); res.on('data', (part) => (text += part));
    res.on('end', () => resolve({ status: res.statusCode, text, session: res.headers['mcp-session-id'] }));
  });
  req.on('error', (error) => resolve({ status: 0, text: String(error) }));
  req.end(body === null ? undefined : JSON.stringify(body));
});
let id = 0;
const init = await send('POST', '/mcp', { jsonrpc: '2.0', id: ++id, method: 'initialize', params: {
  protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'claude', version: '1' } } });
const session = { 'mcp-session-id': init.session };
const rpc = (method, params) => send('POST', '/mcp', { jsonrpc: '2.0', id: ++id, method, params }, session);
const call = (name, args) => rpc('tools/call', { name, arguments: args });
const asked = await call('wraptool_request_capability', { tool: 'git', subcommand: 'push', flags: ['--force'], rationale: 'mine' });
const request = /req_[0-9a-f]{8}/.exec(asked.text)[0];
const said = [];
for (const extra of [{ approve: true }, { status: 'approved' }, { decision: 'allow' }, { grant: 'once' }])
  said.push((await call('wraptool_request_capability', { request_id: request, ...extra })).text);
for (const name of ['wraptool_approve', 'wraptool_requests_approve', 'requests_approve', 'wraptool_grant', 'approve'])
  said.push((await call(name, { id: request })).text);
for (const method of ['requests/approve', 'wraptool/approve', 'grants/create', 'elicitation/create'])
  said.push((await rpc(method, { id: request })).text);
for (const method of ['GET', 'POST', 'PUT', 'DELETE'])
  for (const url of ['/requests/' + request + '/approve', '/admin', '/admin/requests/' + request, '/api/requests/' + request + '/approve', '/grants', '/mcp/requests'])
    said.push(method + ' ' + url + ' ' + (await send(method, url, method === 'GET' ? null : { approve: true })).status);
const denied = await call('wraptool_run', { tool: 'git', argv: ['push', '--force', 'origin', 'main'] });
const found = [];
const paths = ${JSON.stringify(paths)};
for (const place of paths) try { fs.accessSync(place); found.push(place); } catch {}
for (const place of paths) {
  // What is not there may be made here: it must not be the host's.
  try { fs.mkdirSync(place, { recursive: true }); fs.writeFileSync(place + '/20250101T000000000-1-abcdef.jsonl', '{}\\n'); } catch {}
}
const files = fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } });
console.log('RESULT ' + JSON.stringify({ request, said, denied: denied.text, found, files }));
`;

for (const { name: runtime, part } of runtimes)
  void test(
    `${runtime}: nothing that the token reaches changes a decision, and neither does any file`,
    needs(part),
    async (t) => {
      const where = await place(t);
      await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
      const log = path.join(where.home, '.local/state/wraptool/log');
      const guarded = [
        log,
        where.config,
        path.dirname(where.config),
        path.join(where.home, '.local/state/wraptool'),
      ];
      await mkdir(path.join(where.workspace, '.try'), { recursive: true });
      const script = path.join(where.workspace, '.try', 'attempt.mjs');
      const before = await readFile(where.config);
      await writeFile(script, attempts(guarded));
      const done = await where.wraptool([
        'up',
        'shell',
        '--runtime',
        runtime,
        '--',
        '-c',
        `exec ${inside.node} ${script}`,
      ]);
      const line = /RESULT (.*)/.exec(done.stdout)?.[1];
      assert.ok(line !== undefined, done.stdout + done.stderr);
      const { request, said, denied, found, files } = JSON.parse(line) as {
        request: string;
        said: string[];
        denied: string;
        found: string[];
        files: string[];
      };
      assert.match(denied, /DENIED/);
      // The folders of the operator are not there, nor is any file of theirs open.
      assert.deepEqual(found, []);
      assert.deepEqual(
        files.filter((file) => file.startsWith(where.home)),
        [],
      );
      assert.ok(said.length > 30);
      for (const answer of said)
        assert.doesNotMatch(answer, /"status":"approved"|\\"approved\\"| 200$/, answer);
      assert.deepEqual(await readFile(where.config), before);
      assert.ok(existsSync(log));
      assert.ok(!(await readdir(log)).includes('20250101T000000000-1-abcdef.jsonl'));
      const reader = readLedger(log);
      await reader.refresh();
      assert.equal(reader.ledger.requests.get(request)?.status, 'pending');
      assert.equal(reader.ledger.grants.size, 0);
    },
  );
