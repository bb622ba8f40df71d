/** Who reaches the page, and what is sent with every answer: a real gateway, raw requests. */
import assert from 'node:assert/strict';
import test, { before, describe, type TestContext } from 'node:test';
import { token as mcpToken, world } from '../gateway/support.ts';
import { command } from '../requests/support.ts';
import { codeOf, put, send, site, visitor, type Site } from './support.ts';

describe('the listener', () => {
  let it: Site;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const holder = { after: (fn: () => unknown) => void cleanups.push(fn) };
    it = await site(holder as unknown as TestContext);
  });
  test.after(async () => {
    for (const clean of cleanups.toReversed()) await clean();
  });

  test('the link has its secret in the fragment, and is one of this machine', async () => {
    const url = new URL((await command(it.it, ['admin', 'open'])).stdout.trim());
    assert.equal(url.hostname, '127.0.0.1');
    assert.match(url.hash, /^#login=[\w-]{43}$/);
    assert.equal(url.search, '');
  });

  test('every answer has a strict policy, sets no cookie and is not kept', async () => {
    const paths = ['', 'main.js', 'style.css', 'nothing', 'api/requests', 'api/login'];
    for (const where of paths) {
      const { headers } = await send(it.base + where);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'/, where);
      assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/, where);
      assert.match(policy, /frame-ancestors 'none'/, where);
      assert.equal(headers['set-cookie'], undefined, where);
      assert.equal(headers['access-control-allow-origin'], undefined, where);
      assert.equal(headers['x-content-type-options'], 'nosniff', where);
      assert.equal(headers['cache-control'], 'no-store', where);
    }
  });

  test('the page has nothing inline and asks nobody else', async () => {
    const { text } = await send(it.base);
    assert.doesNotMatch(text, /<style|style=|\son[a-z]+=|https?:\/\//i);
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)/i);
  });

  const others = [
    'evil.example',
    'evil.example:PORT',
    '127.0.0.1',
    '127.0.0.1:1',
    'localhost.evil.example:PORT',
    '0.0.0.0:PORT',
  ];
  for (const host of others)
    test(`the Host "${host}" is refused, on the page and on its API`, async () => {
      const { port } = new URL(it.base);
      for (const where of ['', 'api/requests', 'api/login']) {
        const answer = await send(it.base + where, { headers: { host: host.replace('PORT', port) } });
        assert.deepEqual([answer.status, codeOf(answer)], [403, 'host_not_allowed']);
      }
    });

  for (const origin of [
    'http://evil.example',
    'http://127.0.0.1:1',
    'http://localhost:PORT',
    'https://127.0.0.1:PORT',
    'null',
  ])
    test(`the Origin "${origin}" is refused with a good login`, async () => {
      const { port } = new URL(it.base);
      const secret = (await it.link()).split('#login=')[1];
      const headers = { origin: origin.replace('PORT', port) };
      const answer = await send(`${it.base}api/login`, { method: 'POST', headers, body: { secret } });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'origin_not_allowed']);
      const own = { origin: new URL(it.base).origin };
      assert.equal(
        (await send(`${it.base}api/login`, { method: 'POST', headers: own, body: { secret } })).status,
        200,
      );
    });

  test('a request that a browser says is of another site is refused', async () => {
    for (const site_ of ['cross-site', 'same-site']) {
      const headers = { 'sec-fetch-site': site_, 'sec-fetch-mode': 'no-cors' };
      assert.equal((await send(`${it.base}main.js`, { headers })).status, 403);
    }
  });

  test('without the page’s path there is nothing', async () => {
    const { origin } = new URL(it.base);
    for (const where of ['/', '/index.html', '/api/requests', '/api/login', '/mcp', `/${'0'.repeat(32)}/`])
      assert.equal((await send(origin + where)).status, 404, where);
  });

  test('the MCP token opens nothing, nor does a link’s secret, nor none', async () => {
    const secret = (await it.link()).split('#login=')[1] ?? '';
    for (const headers of [
      { authorization: `Bearer ${mcpToken}` },
      { authorization: `Bearer ${secret}` },
      {},
    ])
      for (const where of ['requests', 'events', 'tools', 'log', 'sessions', 'restart'])
        assert.equal((await send(`${it.base}api/${where}`, { headers })).status, 401, where);
    const login = await send(`${it.base}api/login`, { method: 'POST', body: { secret: mcpToken } });
    assert.equal(codeOf(login), 'login_refused');
  });

  test('a login’s token opens no MCP', async () => {
    const secret = (await it.link()).split('#login=')[1];
    const { json } = await send(`${it.base}api/login`, { method: 'POST', body: { secret } });
    const headers = {
      authorization: `Bearer ${String(json['token'])}`,
      accept: 'application/json, text/event-stream',
    };
    const answer = await send(it.gateway.ready.url ?? '', { method: 'POST', headers, body: {} });
    assert.equal(answer.status, 401);
  });

  test('a link is good once; after logout its login is none', async () => {
    const link = await it.link();
    const visit = await visitor(link);
    assert.equal((await visit('requests')).status, 200);
    await assert.rejects(visitor(link), /login_refused/);
    assert.equal((await visit('logout', {})).status, 200);
    assert.equal((await visit('requests')).status, 401);
  });

  test('a viewer may look and change nothing', async () => {
    await put(it.it, { id: 'req_0000000a' });
    const visit = await visitor(await it.link('--viewer'));
    for (const where of [
      'requests',
      'requests/req_0000000a',
      'tools',
      'tools/date',
      'log',
      'sessions',
      'restart',
    ])
      assert.equal((await visit(where)).status, 200, where);
    for (const where of [
      'requests/req_0000000a/approve',
      'requests/req_0000000a/deny',
      'grants/grt_00000000/revoke',
      'tools/date/save',
      'restart',
    ]) {
      const answer = await visit(where, {
        scope: 'once',
        digest: '',
        reason: 'x',
        section: 'allow',
        text: '',
        hash: '',
      });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'read_only'], where);
    }
  });

  test('a body that is too large, no JSON, or no object is refused', async () => {
    const post = (body: unknown, headers = {}) =>
      send(`${it.base}api/login`, { method: 'POST', body, headers });
    assert.equal((await post({ secret: 'x'.repeat(600_000) })).status, 413);
    assert.equal((await post([])).status, 400);
    assert.equal((await post({ secret: 1 })).status, 400);
    assert.equal((await post({ secret: 'x' }, { 'content-type': 'text/plain' })).status, 415);
  });

  test('guessing is slowed down', async () => {
    const guess = () => send(`${it.base}api/login`, { method: 'POST', body: { secret: 'guess' } });
    let last = await guess();
    for (let left = 15; left > 0 && last.status === 401; left -= 1) last = await guess();
    assert.deepEqual([last.status, codeOf(last)], [429, 'too_many_logins']);
    assert.match(String(last.headers['retry-after']), /^\d+$/);
    // Whoever guesses does not keep the operator out.
    assert.equal((await (await visitor(await it.link()))('requests')).status, 200);
  });
});

test('without an admin block there is no page, and no link', async (t) => {
  const it = await site(t, (text) => text).then(({ it: world }) => world);
  const other = { config: it.config, env: { ...it.env, HOME: it.dir } };
  const said = await command(other, ['admin', 'open', '--json']);
  assert.equal(said.code, 1);
  assert.match(said.stdout, /"admin_not_running"/);
});

test('the page ends with its gateway', async (t) => {
  const it = await site(t);
  it.gateway.child.kill('SIGTERM');
  await new Promise((resolve) => it.gateway.child.once('exit', resolve));
  await assert.rejects(send(it.base), /ECONNREFUSED/);
  assert.equal((await command(it.it, ['admin', 'open'])).code, 1);
});

for (const listen of ['0.0.0.0:0', '192.0.2.1:80', '"[::]:0"', 'example.org:80'])
  test(`admin.listen ${listen}: refused, it is for this machine alone`, async (t) => {
    const it = world(t, (text) => `${text}admin: { listen: ${listen} }\n`);
    const said = await command(it, ['config', 'check', '--config', it.config]);
    assert.equal(said.code, 2);
    assert.match(
      said.stdout + said.stderr,
      /admin.listen: expected HOST:PORT with an address of this machine/,
    );
  });
