/** The page of a session that runs: how it is, what it calls, and what a restart would need. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import test, { describe } from 'node:test';
import { inside } from '../../src/up/runtime/runtime.ts';
import { finish, gitConfig, place } from '../e2e/place.ts';
import { needs } from '../support/real.ts';
import { until } from '../support/until.ts';
import { needsBrowser, openBrowser, openTab } from './browser.ts';
import { put, site, visitor } from './support.ts';
import { obeyed, texts } from './texts.ts';

const folder = path.resolve('test-artifacts/web');

/** Runs inside, each time it is told to: a call that is allowed. */
const caller = `
import fs from 'node:fs';
import http from 'node:http';
const send = (body, session) => new Promise((resolve, reject) => {
  const req = http.request({ socketPath: ${JSON.stringify(inside.socket)}, method: 'POST', path: '/mcp', headers: {
    host: 'localhost', authorization: 'Bearer ' + process.env.WRAPTOOL_TOKEN, 'content-type': 'application/json',
    accept: 'application/json, text/event-stream', ...(session ? { 'mcp-session-id': session } : {}) } }, (res) => {
    res.resume(); res.on('end', () => resolve(res.headers['mcp-session-id']));
  });
  req.on('error', reject);
  req.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }));
});
const session = await send({ method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'inside', version: '1' } } });
await send({ method: 'tools/call', params: { name: 'wraptool_run', arguments: { tool: 'git', argv: ['status', '--short'] } } }, session);
`;

describe('the page of a session', needsBrowser(), () => {
  test('health, live calls, and a restart with its phrase', needs('bubblewrap'), async (t) => {
    mkdirSync(folder, { recursive: true });
    const where = await place(t);
    await where.writeConfig(`${gitConfig}admin: {}\nup: { network: none }\n`);
    await writeFile(path.join(where.workspace, 'call.mjs'), caller);
    const script = `while [ ! -f .go ]; do sleep 0.1; done; ${inside.node} call.mjs; while [ ! -f .end ]; do sleep 0.1; done`;
    const child = where.start([
      'up',
      'shell',
      '--runtime',
      'bubblewrap',
      '--name',
      'page',
      '--',
      '-c',
      script,
    ]);
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    const result = finish(child, '');
    t.after(async () => {
      child.kill('SIGTERM');
      await result;
    });
    const link = await until('the link', () => /http:\S+#login=[\w-]{43}/.exec(said)?.[0], 50_000);
    const browser = await openBrowser(t);
    const tab = await openTab(browser, link);
    await tab.getByRole('link', { name: 'Sessions' }).click();
    await tab.getByRole('link', { name: /page/ }).click();
    await tab.locator('.pill.running').waitFor();
    assert.match(
      await tab.locator('main .facts').first().innerText(),
      /pid \d+, answers[\s\S]*pid \d+, runs/,
    );
    await writeFile(path.join(where.workspace, '.go'), '');
    await tab.locator('.what:has-text("allow [\\"git\\", \\"status\\", \\"--short\\"]")').waitFor();
    // What a server upstream says on its stderr is in the gateway's log.
    const log = path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool/page/gateway.log');
    await appendFile(log, `${Object.values(texts).join('\n')}\nthe last line\n`);
    await tab.locator('.agent.block:has-text("the last line")').waitFor();
    assert.equal(await tab.evaluate(`${obeyed}.test(document.body.innerText)`), false);
    assert.equal(await tab.evaluate('document.querySelectorAll("main img, main script").length'), 0);
    await tab.screenshot({ path: path.join(folder, 'session-light-1280.png'), fullPage: true });
    await tab.getByRole('link', { name: /Restart its gateway/ }).click();
    await tab.locator('.ledger li').first().waitFor();
    assert.equal(await tab.locator('.ledger li').count(), 4);
    await tab.locator('#phrase').fill('reload page');
    assert.equal(await tab.locator('#do-restart').isDisabled(), true);
    await tab.locator('#phrase').fill('restart page');
    await tab.locator('#do-restart').click();
    // Not armed: `up` was started without the operator's authorization.
    await tab
      .getByText(/operator_authorization_missing/)
      .first()
      .waitFor();
    await tab.screenshot({ path: path.join(folder, 'restart-of-a-session-light-1280.png'), fullPage: true });
    await tab.setViewportSize({ width: 390, height: 844 });
    await tab.emulateMedia({ colorScheme: 'dark' });
    await tab.screenshot({ path: path.join(folder, 'restart-of-a-session-dark-390.png'), fullPage: true });
    await tab.evaluate('history.back()');
    await tab.locator('.pill.running').waitFor();
    await tab.screenshot({ path: path.join(folder, 'session-dark-390.png'), fullPage: true });
    assert.deepEqual(tab.misdeeds, []);
    await writeFile(path.join(where.workspace, '.end'), '');
    await result;
    await tab.getByText('not connected').waitFor();
  });

  test('a page of another port, in the same browser, learns nothing and does nothing, even where it knows the path', async (t) => {
    const it = await site(t);
    await put(it.it, { id: 'req_0000000a' });
    const link = await it.link();
    const { digest } = (await (await visitor(await it.link()))('requests/req_0000000a')).json;
    const evil = http.createServer((_req, res) => {
      res.setHeader('content-type', 'text/html');
      res.end('<!doctype html><title>evil</title><body></body>');
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    t.after(() => evil.close());
    const { port } = evil.address() as AddressInfo;
    const browser = await openBrowser(t);
    const tab = await openTab(browser, link);
    await tab.locator('a[data-request]').waitFor();
    // In the same context: whatever tabs of a browser share, it has.
    const other = await tab.context().newPage();
    await other.goto(`http://127.0.0.1:${port}/`);
    const tried = await other.evaluate<string[]>(`(async () => {
      const base = ${JSON.stringify(it.base)};
      const said = [];
      const body = JSON.stringify({ scope: 'apply', digest: ${JSON.stringify(digest)} });
      for (const options of [{}, { mode: 'no-cors' }, { credentials: 'include' }, { method: 'POST', body }, { method: 'POST', mode: 'no-cors', body }])
        for (const where of ['', 'api/requests', 'api/login', 'api/requests/req_0000000a/approve'])
          said.push(await fetch(base + where, options).then(async (res) => res.type + ':' + (await res.text()), (error) => 'error'));
      const loads = (name, key) => new Promise((resolve) => {
        const element = document.createElement(name);
        element.onload = () => resolve(name + ' loaded');
        element.onerror = () => resolve('error');
        element[key] = base + { script: 'main.js', img: 'icon.svg' }[name];
        document.body.append(element);
      });
      said.push(await loads('script', 'src'), await loads('img', 'src'));
      const opened = window.open(base);
      // First it is an empty page of ours; once it is theirs, it is out of reach.
      const reach = () => { try { return opened === null || opened.closed ? 'error' : opened.location.href + opened.document.title; } catch { return 'error'; } };
      for (let left = 100; left > 0 && reach() === 'about:blank'; left -= 1) await new Promise((resolve) => setTimeout(resolve, 50));
      said.push(reach());
      // In a frame there is nothing but the browser's own refusal, which is out of reach too.
      const frame = document.createElement('iframe');
      const framed = new Promise((resolve) => (frame.onload = resolve));
      frame.src = base;
      document.body.append(frame);
      await framed;
      said.push(frame.contentDocument === null && frame.contentWindow.length === 0 ? 'error' : 'framed');
      return said;
    })()`);
    // An opaque answer has no text that a page could read.
    for (const answer of tried) assert.match(answer, /^(error|opaque:)$/);
    assert.equal(await other.evaluate('sessionStorage.length + document.cookie.length'), 0);
    const list = (await (await visitor(await it.link()))('requests')).json as { pending: { id: string }[] };
    assert.deepEqual(
      list.pending.map(({ id }) => id),
      ['req_0000000a'],
    );
  });
});
