/** A session’s terminal says that its agent waits for the operator. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import assert from 'node:assert/strict';
import test from 'node:test';
import { inside } from '../../src/up/runtime/runtime.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { until } from '../support/until.ts';
import { gitConfig, place } from './place.ts';
import { main } from '../support/main.ts';

const asking = `
import http from 'node:http';
const send = (body, more = {}) => new Promise((resolve) => {
  const req = http.request({ socketPath: ${JSON.stringify(inside.socket)}, method: 'POST', path: '/mcp', headers: {
    host: 'localhost', authorization: 'Bearer ' + process.env.WRAPTOOL_TOKEN, 'content-type': 'application/json',
    accept: 'application/json, text/event-stream', ...more } }, (res) => { res.resume(); res.on('end', () => resolve(res)); });
  req.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }));
});
const { headers } = await send({ method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } } });
await send({ method: 'tools/call', params: { name: 'wraptool_request_capability',
  arguments: { tool: 'git', subcommand: 'push', flags: ['--force'], rationale: 'mine' } } }, { 'mcp-session-id': headers['mcp-session-id'] });
console.log('asked');
setInterval(() => {}, 1000);
`;

void test(
  'a request sets the title of the terminal that the session runs in',
  needs('bubblewrap'),
  async (t) => {
    if (needs('tmux').skip) return t.skip(String(needs('tmux').skip));
    const where = await place(t);
    await where.writeConfig(`${gitConfig}up: { network: none }\n`);
    const script = path.join(where.workspace, 'ask.mjs');
    await writeFile(script, asking);
    const words = Object.entries(where.env).map(([name, value]) => `${name}=${value}`);
    const up = ['up', 'shell', '--runtime', 'bubblewrap', '--workspace', where.workspace];
    const terminal = new Terminal({ columns: 120, rows: 30 }, [
      '/usr/bin/env',
      '-i',
      ...words,
      process.execPath,
      main,
      ...up,
      '--',
      '-c',
      `exec ${inside.node} ${script}`,
    ]);
    t.after(() => terminal.close());
    await terminal.shows(/^asked/m, 30_000);
    const title = await until(
      'the title',
      () => (terminal.title().startsWith('wraptool: req_') ? terminal.title() : null),
      30_000,
    );
    const listed = await where.wraptool(['requests', 'list', '--json']);
    const [request] = JSON.parse(listed.stdout) as { id: string; session: string }[];
    assert.equal(title, `wraptool: ${request?.id} waits`);
    // A grant is for a session that is there.
    terminal.keys('C-c');
    await until(
      'the session has ended',
      async () => !/shell/.test((await where.wraptool(['ps'])).stdout),
      30_000,
    );
    const late = await where.wraptool(['requests', 'approve', request?.id ?? '', '--once', '--json']);
    assert.deepEqual(
      [late.code, (JSON.parse(late.stdout) as { error: { code: string } }).error.code],
      [2, 'session_unknown'],
    );
  },
);
