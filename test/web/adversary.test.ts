/** Whoever has a login that is too small, no login, or another thing in mind than what was shown: raw requests. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test, { before, describe, type TestContext } from 'node:test';
import { openLog } from '../../src/log/append.ts';
import { logRoutes } from '../../src/web/api/log.ts';
import { requestRoutes } from '../../src/web/api/requests.ts';
import { restartRoutes } from '../../src/web/api/restart.ts';
import { ruleRoutes } from '../../src/web/api/rules.ts';
import { sessionRoutes } from '../../src/web/api/sessions.ts';
import { eventsOf } from '../gateway/records.ts';
import { until } from '../support/until.ts';
import { codeOf, date, put, send, site, visitor, type Site, type Visitor } from './support.ts';

const patience = 60_000;
const digestOf = async (visit: Visitor, id: string, wide = false) =>
  String((await visit(`requests/${id}${wide ? '?wide=1' : ''}`)).json['digest']);

async function tokenOf(link: string): Promise<string> {
  const [base = '', secret = ''] = link.split('#login=');
  const { json } = await send(`${base}api/login`, { method: 'POST', body: { secret } });
  return String(json['token']);
}

/** A line of events: its status, and what has come so far. */
function listen(
  t: Pick<TestContext, 'after'>,
  base: string,
  token: string,
): Promise<{ status: number; text: () => string; closed: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const req = http.get(
      `${base}api/events`,
      { headers: { authorization: `Bearer ${token}` }, agent: false },
      (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (part: string) => (text += part));
        const closed = new Promise<void>((done) => res.once('close', done));
        resolve({ status: res.statusCode ?? 0, text: () => text, closed });
      },
    );
    req.on('error', reject);
    t.after(() => req.destroy());
  });
}

describe('what a login may not', () => {
  let it: Site;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const holder = { after: (fn: () => unknown) => void cleanups.push(fn) };
    it = await site(holder as unknown as TestContext);
    await put(it.it, { id: 'req_0000000a' }, { id: 'req_0000000b' });
  });
  test.after(async () => {
    for (const clean of cleanups.toReversed()) await clean();
  });

  const changing: Readonly<Record<string, string>> = {
    '^requests\\/(req_[0-9a-f]{8})\\/approve$': 'requests/req_0000000a/approve',
    '^requests\\/(req_[0-9a-f]{8})\\/deny$': 'requests/req_0000000a/deny',
    '^grants\\/(grt_[0-9a-f]{8})\\/revoke$': 'grants/grt_00000000/revoke',
    '^tools\\/([A-Za-z0-9][A-Za-z0-9._+-]{0,39})\\/save$': 'tools/date/save',
    '^tools\\/([A-Za-z0-9][A-Za-z0-9._+-]{0,39})\\/check$': 'tools/date/check',
    '^restart$': 'restart',
  };

  test('a viewer is refused by each route that takes something, whatever is sent', async () => {
    const posts = [...requestRoutes, ...ruleRoutes, ...sessionRoutes, ...logRoutes, ...restartRoutes]
      .filter(({ method }) => method === 'POST')
      .map(({ path: { source } }) => source);
    assert.deepEqual(posts.toSorted(), Object.keys(changing).toSorted(), 'a new route has to be listed here');
    const visit = await visitor(await it.link('--viewer'));
    for (const where of Object.values(changing))
      for (const body of [
        {},
        { role: 'operator', scope: 'once', digest: await digestOf(visit, 'req_0000000a'), reason: 'x' },
        { namespace: 'x', mode: 'restart', confirm: 'restart x' },
        { section: 'allow', text: '', hash: '' },
      ]) {
        const answer = await visit(where, body);
        assert.deepEqual([answer.status, codeOf(answer)], [403, 'read_only'], where);
      }
    assert.deepEqual(
      [...(await eventsOf(it.it.log, 'granted')), ...(await eventsOf(it.it.log, 'denied'))],
      [],
    );
  });

  test('an approval without a digest, with another one’s, or with that of the narrow one for the wide one approves nothing', async () => {
    const visit = await visitor(await it.link());
    const approve = (body: object) => visit('requests/req_0000000a/approve', { scope: 'once', ...body });
    const own = await digestOf(visit, 'req_0000000a');
    for (const [body, status] of [
      [{}, 400],
      [{ digest: null }, 400],
      [{ digest: [own] }, 400],
      [{ digest: '' }, 409],
      [{ digest: '0'.repeat(64) }, 409],
      [{ digest: own.toUpperCase() }, 409],
      [{ digest: await digestOf(visit, 'req_0000000b') }, 409],
      [{ digest: own, wide: true }, 409],
      [{ digest: await digestOf(visit, 'req_0000000a', true), wide: false }, 409],
    ] as const) {
      const answer = await approve(body);
      assert.equal(answer.status, status, JSON.stringify(body) + answer.text);
    }
    assert.deepEqual(await eventsOf(it.it.log, 'granted'), []);
  });

  test('a body cannot say by a prototype what it does not say itself', async () => {
    const [base] = (await it.link()).split('#');
    const authorization = `Bearer ${await tokenOf(await it.link())}`;
    const visit = await visitor(await it.link());
    const said = JSON.stringify({ scope: 'once', digest: await digestOf(visit, 'req_0000000a') });
    for (const text of [
      `{"__proto__":${said}}`,
      `{"constructor":{"prototype":${said}}}`,
      `{"scope":"__proto__"}`,
      `{"scope":{"toString":"once"}}`,
      `[${said}]`,
      '['.repeat(100_000),
      '{"a":'.repeat(50_000),
    ]) {
      const answer = await new Promise<number>((resolve, reject) => {
        const headers = { authorization, 'content-type': 'application/json' };
        const req = http.request(
          `${base}api/requests/req_0000000a/approve`,
          { method: 'POST', headers, agent: false },
          (res) => resolve(res.resume().statusCode ?? 0),
        );
        req.on('error', reject).end(text);
      });
      assert.equal(answer, 400, text.slice(0, 80));
    }
    assert.equal((await visit('requests')).status, 200);
    assert.deepEqual(await eventsOf(it.it.log, 'granted'), []);
  });

  for (const where of [
    'requests/..',
    'requests/../tools',
    'requests/req_0000000A',
    'requests/req_0000000a/../req_0000000b',
    'requests/req_0000000a%2fapprove',
    'requests/req_0000000a/',
    'sessions/..',
    'sessions/%2e%2e',
    'sessions/..%2f..%2fetc',
    'sessions/.admin',
    'sessions/%00',
    'tools/..%2fdate',
    'tools/__proto__',
    'tools/%E0%A4%A',
    '../api/requests',
    'constructor',
    '',
  ])
    test(`"api/${where}" is nothing`, async () => {
      const authorization = `Bearer ${await tokenOf(await it.link())}`;
      const { hostname, port, pathname } = new URL(it.base);
      // As it is written: a URL of the client's would tidy it up.
      const status = await new Promise<number>((resolve, reject) => {
        http
          .get(
            { hostname, port, path: `${pathname}api/${where}`, headers: { authorization }, agent: false },
            (res) => resolve(res.resume().statusCode ?? 0),
          )
          .on('error', reject);
      });
      assert.equal(status, 404);
    });

  for (const tool of ['constructor', 'toString', 'hasOwnProperty', 'nothere'])
    test(`the rules of "${tool}", which is no tool, are not there, and not written`, async () => {
      const visit = await visitor(await it.link());
      const config = fs.readFileSync(it.it.config, 'utf8');
      assert.ok((await visit(`tools/${tool}`)).status >= 400);
      const hash = String((await visit('tools/date')).json['hash']);
      const saved = await visit(`tools/${tool}/save`, { section: 'allow', text: '    allow: []\n', hash });
      assert.ok(saved.status >= 400 && saved.status < 500, saved.text);
      assert.equal(fs.readFileSync(it.it.config, 'utf8'), config);
    });

  test('every answer keeps to itself: no frame, no referrer, no other origin', async (t) => {
    const authorization = `Bearer ${await tokenOf(await it.link())}`;
    const head = (where: string, headers: Record<string, string> = { authorization }) =>
      send(it.base + where, { headers });
    const answers = [
      await head(''),
      await head('main.js'),
      await head('nothing'),
      await head('api/requests'),
      await head('api/requests', {}),
      await head('api/requests', { authorization, host: 'evil.example' }),
      await send(new URL(it.base).origin),
    ];
    const events = await new Promise<http.IncomingMessage>((resolve) => {
      const req = http.get(`${it.base}api/events`, { headers: { authorization }, agent: false }, resolve);
      t.after(() => req.destroy());
    });
    for (const { headers } of [...answers, events]) {
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
      assert.equal(headers['cache-control'], 'no-store');
      assert.match(String(headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);
    }
  });

  test('a viewer’s lines are counted: the operator’s is not taken', async (t) => {
    const [viewer, operator] = [await tokenOf(await it.link('--viewer')), await tokenOf(await it.link())];
    const lines = await Promise.all(Array.from({ length: 40 }, () => listen(t, it.base, viewer)));
    const open = lines.filter(({ status }) => status === 200);
    assert.equal(open.length, 6);
    assert.ok(lines.every(({ status }) => status === 200 || status === 503));
    const own = await listen(t, it.base, operator);
    assert.equal(own.status, 200);
    await until('it hears of the requests', () => own.text().includes('event: requests'), patience);
    await put(it.it, { id: 'req_0000000c' });
    await until('it hears of another one', () => own.text().includes('req_0000000c'), patience);
    // Logging out ends them all.
    const headers = { authorization: `Bearer ${viewer}` };
    assert.equal((await send(`${it.base}api/logout`, { method: 'POST', headers, body: {} })).status, 200);
    await Promise.all(open.map(({ closed }) => closed));
    await put(it.it, { id: 'req_0000000d' });
    await until('it hears of one more', () => own.text().includes('req_0000000d'), patience);
  });

  test('whoever opens connections and says nothing, or little, keeps nobody out', async (t) => {
    const { hostname, port } = new URL(it.base);
    const sockets: net.Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (let count = 0; count < 700; count += 1) {
      const socket = net.connect(Number(port), hostname);
      sockets.push(socket.on('error', () => undefined));
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
      if (count % 2 === 0) socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Slow: `);
    }
    const visit = await visitor(await it.link());
    assert.equal((await visit('requests')).status, 200);
    const alive = () => sockets.filter(({ destroyed, readable }) => !destroyed && readable).length;
    await until('the oldest are gone', () => alive() <= 70, patience);
  });

  test('a body that ends early, or is too large for a login, is refused, and is no fault of ours', async () => {
    const { hostname, port, pathname } = new URL(it.base);
    const before = it.gateway.stderr();
    for (let count = 0; count < 3; count += 1)
      await new Promise<void>((resolve) => {
        const socket = net.connect(Number(port), hostname, () => {
          const head = `POST ${pathname}api/login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"sec`;
          socket.write(head, () => socket.resetAndDestroy());
        });
        socket.on('error', () => undefined).on('close', () => resolve());
      });
    const large = await send(`${it.base}api/login`, { method: 'POST', body: { secret: 'x'.repeat(5_000) } });
    assert.equal(large.status, 413);
    assert.equal((await (await visitor(await it.link()))('requests')).status, 200);
    assert.equal(it.gateway.stderr(), before);
  });
});

test('what was shown is what is approved: another config, another program, another request of that id', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-web-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const binary = path.join(dir, 'program');
  const program = (text: string) => {
    fs.writeFileSync(`${binary}.new`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    fs.renameSync(`${binary}.new`, binary);
  };
  program('true');
  const mine = `${date}  mine: { binary: ${binary}, guard: none }\n`;
  const it = await site(t, (text) => text.replace(date, mine));
  const visit = await visitor(await it.link());
  await put(it.it, { id: 'req_0000000a', tool: 'mine', argv: ['--one'] });
  const shown = () => digestOf(visit, 'req_0000000a');
  const approve = (digest: string, scope = 'once') =>
    visit('requests/req_0000000a/approve', { scope, digest });

  const first = await shown();
  program('echo other');
  assert.equal(codeOf(await approve(first)), 'request_stale', 'another program');
  const second = await shown();
  fs.appendFileSync(it.it.config, '# another line\n');
  for (const scope of ['once', 'session', 'apply'])
    assert.equal(codeOf(await approve(second, scope)), 'request_stale', 'another config');
  const third = await shown();
  await put(it.it, { id: 'req_0000000a', tool: 'mine', argv: ['--other'] });
  assert.equal(await shown(), third, 'the first of an id stands');
  const done = await approve(third);
  assert.equal(done.status, 200, done.text);
  const [granted] = await eventsOf(it.it.log, 'granted');
  assert.deepEqual(granted?.rule?.flags, ['--one']);
});

test('of many operators who decide at once one does', async (t) => {
  const it = await site(t);
  await put(it.it, { id: 'req_0000000a' });
  const visits = await Promise.all(Array.from({ length: 8 }, async () => visitor(await it.link())));
  const digest = await digestOf(visits[0] as Visitor, 'req_0000000a');
  const answers = await Promise.all(
    visits.map((visit, index) =>
      index % 2 === 0
        ? visit('requests/req_0000000a/deny', { reason: `no ${index}` })
        : visit('requests/req_0000000a/approve', { scope: 'session', digest }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    assert.deepEqual([answer.status, codeOf(answer)], [409, 'request_decided']);
  const decided = [...(await eventsOf(it.it.log, 'granted')), ...(await eventsOf(it.it.log, 'denied'))];
  assert.equal(decided.length, 1);
});

test('however much an agent writes, lists stay small, and the line is not cut', async (t) => {
  const it = await site(t);
  const token = await tokenOf(await it.link());
  const line = await listen(t, it.base, token);
  const big = 'x'.repeat(100_000);
  await put(
    it.it,
    ...Array.from({ length: 30 }, (_, index) => ({
      id: `req_000000${(index + 16).toString(16)}`,
      argv: [`--a=${big}`, ...Array.from({ length: 800 }, () => 'w'.repeat(100))],
      client: big,
      cwd: `/${big}`,
      rationale: big,
      enables: big,
    })),
  );
  const log = await openLog(it.it.log);
  for (let count = 0; count < 30; count += 1)
    log.append({
      event: 'received',
      name: big,
      tool: null,
      argv: null,
      arguments: JSON.stringify({ text: big }),
      client: big,
      mcp_session: null,
      key: null,
    });
  log.close();
  await put(it.it, { id: 'req_000000ff' });
  const visit = await visitor(await it.link());
  for (const where of ['requests', 'log', 'log?events=received', 'log?text=xxx']) {
    const { status, text } = await visit(where);
    assert.equal(status, 200);
    assert.ok(text.length < 1_000_000, `${where}: ${text.length}`);
  }
  await until('the line goes on', () => line.text().includes('req_000000ff'), patience);
  // The whole of one is there for whoever decides on it.
  assert.ok((await visit('requests/req_00000010')).text.length > 400_000);
});
