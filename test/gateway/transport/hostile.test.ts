/** Clients that mean harm, spoken to over raw sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { listen } from '../../../src/gateway/transport/listen.ts';
import { deeperThan } from '../../../src/gateway/transport/body.ts';
import { fakeCore, rig, token, type Rig } from './fake-core.ts';

type Answer = { status: number; head: string; body: string };

/** Sends bytes, and reads until the other side ends or the answer is whole. */
async function raw(it: Rig, text: string | Buffer): Promise<Answer> {
  const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text);
  let seen = '';
  for await (const chunk of socket) {
    seen += String(chunk);
    const [head = '', body = ''] = seen.split('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    if (Buffer.byteLength(body) >= length) break;
  }
  socket.destroy();
  const [head = '', ...rest] = seen.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), head, body: rest.join('\r\n\r\n') };
}

const auth = `Authorization: Bearer ${token}`;
const json = 'Content-Type: application/json';

function request(line: string, headers: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return `${line} HTTP/1.1\r\n${['Host: 127.0.0.1', ...headers, ...length].join('\r\n')}\r\n\r\n${body}`;
}
const post = (body: string, ...headers: string[]) => request('POST /mcp', [auth, json, ...headers], body);
const call = (method: string, params = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

async function session(it: Rig): Promise<string> {
  const { head } = await raw(it, post(call('initialize', { protocolVersion: '2025-06-18' })));
  return `Mcp-Session-Id: ${/mcp-session-id: (\S+)/i.exec(head)?.[1] ?? ''}`;
}

const refused: readonly [sentence: string, text: string, status: number, says: RegExp][] = [
  [
    'no token',
    request('POST /mcp', [json], call('ping')),
    401,
    /"error":"unauthorized","message":"no token was sent/,
  ],
  [
    'a wrong token',
    request('POST /mcp', ['Authorization: Bearer x', json], call('ping')),
    401,
    /the token is wrong/,
  ],
  ['another scheme', request('POST /mcp', [`Authorization: Basic ${token}`], ''), 401, /has no bearer token/],
  ['the token with more behind it', request('GET /mcp', [`${auth} x`]), 401, /has no bearer token/],
  ['two Authorization headers', request('GET /mcp', ['Authorization: Bearer x', auth]), 400, /sent twice/],
  [
    'a token in the URL',
    request(`POST /mcp?token=${token}`, [auth, json], call('ping')),
    400,
    /token_in_url/,
  ],
  ['a token in the URL, without a header', request('GET /sse?access_token=x', []), 400, /token_in_url/],
  [
    'an unknown parameter',
    request('POST /mcp?cwd=/a&dir=/b', [auth, json], call('ping')),
    400,
    /unknown_parameter.*'dir'/,
  ],
  [
    'sessionId elsewhere than on /messages',
    request('POST /mcp?sessionId=x', [auth, json], call('ping')),
    400,
    /unknown_parameter/,
  ],
  ['an unknown path without a token', request('GET /admin', []), 401, /unauthorized/],
  ['an unknown path', request('GET /admin', [auth]), 404, /not_found/],
  ['a search for OAuth', request('GET /.well-known/oauth-protected-resource/mcp', []), 404, /not_found/],
  ['a registration for OAuth', request('POST /register', [json], '{}'), 404, /not_found/],
  [
    'a foreign Host',
    `GET /mcp HTTP/1.1\r\nHost: evil.example:80\r\n${auth}\r\n\r\n`,
    403,
    /host_not_allowed/,
  ],
  [
    'a Host that begins like ours',
    `GET /mcp HTTP/1.1\r\nHost: localhost.evil.example\r\n${auth}\r\n\r\n`,
    403,
    /host_not_allowed/,
  ],
  ['no Host', `GET /mcp HTTP/1.1\r\n${auth}\r\n\r\n`, 400, /^/],
  ['two Hosts', `GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n${auth}\r\n\r\n`, 400, /^/],
  ['a foreign Origin', request('GET /mcp', [auth, 'Origin: http://evil.example']), 403, /origin_not_allowed/],
  ['the null Origin', request('GET /mcp', [auth, 'Origin: null']), 403, /origin_not_allowed/],
  [
    'an Origin with our name as user',
    request('GET /mcp', [auth, 'Origin: http://localhost@evil.example']),
    403,
    /origin_not_allowed/,
  ],
  ['another method', request('PUT /mcp', [auth]), 405, /method_not_allowed/],
  ['POST on /sse', request('POST /sse', [auth, json], call('initialize')), 405, /only GET/],
  [
    'GET without an Accept for streams',
    request('GET /mcp', [auth, 'Accept: application/json']),
    406,
    /text\/event-stream/,
  ],
  [
    'another media type',
    request('POST /mcp', [auth, 'Content-Type: text/plain'], call('ping')),
    415,
    /Unsupported Media Type/,
  ],
  ['a compressed body', post(call('ping'), 'Content-Encoding: gzip'), 415, /Content-Encoding/],
  ['what is no JSON', post('{"a":'), 400, /-32700/],
  ['what is no UTF-8', request('POST /mcp', [auth, json, 'Content-Length: 2']) + '\xff\xfe', 400, /-32700/],
  [
    'JSON nested too deep',
    post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    400,
    /nested deeper than 64/,
  ],
  ['an empty batch', post('[]'), 400, /a batch has/],
  [
    'a batch that is too long',
    post(JSON.stringify(Array.from({ length: 33 }, () => ({})))),
    400,
    /a batch has/,
  ],
  ['a message that is no object', post('7'), 400, /-32600/],
  ['an id that is an object', post('{"jsonrpc":"2.0","id":{},"method":"ping"}'), 400, /-32600/],
  ['an id that is null', post('{"jsonrpc":"2.0","id":null,"method":"ping"}'), 400, /-32600/],
  ['params that are a list', post('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'), 400, /-32600/],
  ['no MCP session', post(call('tools/list')), 400, /Mcp-Session-Id header is required/],
  [
    'a session that is not ours',
    post(call('tools/list'), 'Mcp-Session-Id: x.y'),
    404,
    /-32001.*Session not found/,
  ],
  [
    'an unknown revision, before the session is looked at',
    post(call('server/discover'), 'MCP-Protocol-Version: 2031-01-01'),
    400,
    /Bad Request: Unsupported protocol version: 2031-01-01 \(supported versions: .*2025-11-25, 2025-06-18/,
  ],
  ['two initializations in one batch', post(`[${call('initialize')},${call('initialize')}]`), 400, /-32600/],
  ['initialize without a revision', post(call('initialize')), 400, /-32602/],
  ['a URL that is too long', request(`GET /mcp?cwd=${'a'.repeat(9000)}`, [auth]), 414, /url_too_long/],
  ['a header of 20 KB', request('GET /mcp', [auth, `X: ${'a'.repeat(20_000)}`]), 431, /^/],
  [
    'a thousand headers',
    request('GET /mcp', [...Array.from({ length: 1000 }, (_, i) => `X${i}: 1`), auth]),
    431,
    /too_many_headers/,
  ],
  [
    'a body said to be too large',
    request('POST /mcp', [auth, json, 'Content-Length: 99999999']),
    413,
    /Payload Too Large/,
  ],
  ['a negative length', request('POST /mcp', [auth, json, 'Content-Length: -1']), 400, /^/],
  [
    'length and chunks at once',
    request('POST /mcp', [auth, json, 'Content-Length: 5', 'Transfer-Encoding: chunked']),
    400,
    /^/,
  ],
  [
    'messages for no session',
    request('POST /messages?sessionId=nope', [auth, json], call('ping')),
    404,
    /Session not found/,
  ],
];

for (const [sentence, text, status, says] of refused) {
  test(`refused: ${sentence}`, async (t) => {
    const it = await rig(t);
    const answer = await raw(it, Buffer.from(text, 'latin1'));
    assert.equal(answer.status, status, answer.body);
    assert.match(answer.body, says);
    assert.equal(answer.body.includes(token), false);
    if (status === 401) assert.match(answer.head, /www-authenticate: Bearer realm="wraptool"/i);
    assert.deepEqual(it.core.calls, []);
    assert.deepEqual(it.faults, []);
  });
}

test('healthz answers without a token and without facts', async (t) => {
  const it = await rig(t);
  const { status, body } = await raw(it, request('GET /healthz', []));
  assert.deepEqual([status, body], [200, '{"status":"ok"}']);
});

test('the Unix socket asks for the token too, and is 0600 in a 0700 folder', async (t) => {
  const it = await rig(t);
  assert.equal(fs.statSync(it.socket).mode & 0o777, 0o600);
  assert.equal(fs.statSync(path.dirname(it.socket)).mode & 0o777, 0o700);
  const socket = net.connect(it.socket);
  socket.write(request('POST /mcp', [json], call('ping')));
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  assert.match(data.toString(), /^HTTP\/1\.1 401 /);
});

test('the token is judged before any of the body is read: no 100 Continue, no wait', async (t) => {
  const it = await rig(t);
  const answer = await raw(
    it,
    request('POST /mcp', [json, 'Expect: 100-continue', 'Content-Length: 1000000']),
  );
  assert.equal(answer.status, 401);
  const chunked = await raw(it, request('POST /mcp', [json, 'Transfer-Encoding: chunked']));
  assert.equal(chunked.status, 401);
});

test('a body that keeps coming is cut off at the limit', async (t) => {
  const it = await rig(t, { limits: { bodyBytes: 1000 } });
  const chunk = `190\r\n${'x'.repeat(400)}\r\n`;
  const answer = await raw(
    it,
    request('POST /mcp', [auth, json, 'Transfer-Encoding: chunked']) + chunk.repeat(5),
  );
  assert.equal(answer.status, 413);
});

test('slow headers and slow bodies end after their time, and others are served meanwhile', async (t) => {
  const it = await rig(t, { limits: { headersMs: 200, requestMs: 300 } });
  const headers = raw(it, 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ');
  const body = raw(it, request('POST /mcp', [auth, json, 'Content-Length: 10']) + '{"a"');
  assert.equal((await raw(it, request('GET /healthz', []))).status, 200);
  assert.equal((await headers).status, 408);
  assert.equal((await body).status, 408);
});

test('a connection that is closed in the middle of a body leaves nothing behind', async (t) => {
  const it = await rig(t, { limits: { bodiesBytes: 100 } });
  for (let i = 0; i < 5; i += 1) {
    const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
    socket.write(`${request('POST /mcp', [auth, json, 'Content-Length: 1000'])}${'x'.repeat(90)}`);
    await once(socket, 'connect');
    socket.resetAndDestroy();
    await once(socket, 'close');
  }
  // What they held is given back as soon as the gateway has noticed.
  while ((await raw(it, post(call('initialize', { protocolVersion: '2025-06-18' })))).status !== 200);
  assert.deepEqual(it.faults, []);
});

test('more sessions than the limit: idle ones make room and are taken up again', async (t) => {
  const it = await rig(t, { limits: { sessions: 2 } });
  const ids = [await session(it), await session(it), await session(it)];
  for (const id of ids) assert.equal((await raw(it, post(call('ping'), id))).status, 200);
});

test('more streams than the limit are refused with 503, and a closed one makes room', async (t) => {
  const it = await rig(t, { limits: { streams: 1 } });
  const id = await session(it);
  const open = async () => {
    const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
    socket.write(request('GET /mcp', [auth, id, 'Accept: text/event-stream']));
    const [data] = (await once(socket, 'data')) as [Buffer];
    return { socket, status: Number(data.toString().split(' ')[1]) };
  };
  const first = await open();
  assert.equal(first.status, 200);
  const second = await open();
  assert.equal(second.status, 503);
  first.socket.destroy();
  for (;;) {
    const { status, socket } = await open();
    socket.destroy();
    if (status === 200) break;
  }
  second.socket.destroy();
});

test('a reader that takes nothing is let go before it costs memory', async (t) => {
  const it = await rig(t, { limits: { streamBacklogBytes: 1000 } });
  const id = await session(it);
  const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(request('GET /mcp', [auth, id, 'Accept: text/event-stream']));
  await once(socket, 'data');
  socket.pause();
  it.core.tools = [];
  const closed = once(socket, 'close');
  // list_changed is small: as many as fill the kernel's buffers, then the backlog.
  for (let i = 0; i < 200_000 && !socket.destroyed; i += 1) {
    it.core.changed();
    if (i % 1000 === 0) await new Promise(setImmediate);
  }
  socket.resume();
  await closed;
});

test('a client that reads nothing of its answers is cut off', async (t) => {
  const it = await rig(t, { limits: { stallMs: 200 } });
  const id = await session(it);
  const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  const large = post(call('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(3_000_000) } }), id);
  socket.write(large);
  // A paused socket is told of its end only when it writes.
  while (!socket.destroyed) {
    socket.write(' ');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test('more calls at once than the limit are refused with 503', async (t) => {
  const it = await rig(t, { limits: { calls: 2 } });
  const id = await session(it);
  const hang = () => raw(it, post(call('tools/call', { name: 'hang' }), id, 'Accept: application/json'));
  const held = [hang(), hang()];
  while (it.core.calls.length < 2) await new Promise(setImmediate);
  assert.equal((await raw(it, post(call('ping'), id))).status, 503);
  await raw(
    it,
    post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }), id),
  );
  for (const { body } of await Promise.all(held)) assert.match(body, /"code":-32800/);
});

test('a session is taken up again by another gateway with the same token, and by none with another', async (t) => {
  const it = await rig(t);
  const id = await session(it);
  const again = await rig(t);
  assert.equal((await raw(again, post(call('tools/list'), id))).status, 200);
  const other = await rig(t, { token: 'another-token' });
  const answer = await raw(other, post(call('tools/list'), id).replaceAll(token, 'another-token'));
  assert.equal(answer.status, 404);
});

test('an ended session stays ended, and its calls are cancelled', async (t) => {
  const it = await rig(t);
  const id = await session(it);
  const hanging = raw(it, post(call('tools/call', { name: 'hang' }), id));
  while (it.core.calls.length === 0) await new Promise(setImmediate);
  assert.equal((await raw(it, request('DELETE /mcp', [auth, id]))).status, 200);
  await hanging;
  assert.deepEqual(it.core.cancelled, ['hang']);
  assert.equal((await raw(it, post(call('ping'), id))).status, 404);
});

test('server/discover without a session or header is answered at once', async (t) => {
  const it = await rig(t);
  const { status, body } = await raw(it, post(call('server/discover')));
  assert.equal(status, 200);
  assert.match(body, /-32601/);
});

test('a batch is answered as a batch, notifications and answers with 202', async (t) => {
  const it = await rig(t);
  const id = await session(it);
  const { body } = await raw(it, post(`[${call('ping')},{"jsonrpc":"2.0","method":"x"}]`, id));
  assert.deepEqual(JSON.parse(body), [{ jsonrpc: '2.0', id: 1, result: {} }]);
  assert.equal((await raw(it, post('{"jsonrpc":"2.0","id":1,"result":{}}', id))).status, 202);
  assert.equal(
    (
      await raw(
        it,
        post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}', id),
      )
    ).status,
    202,
  );
});

test('a busy port and a socket in use are said, a stale socket is replaced', async (t) => {
  const it = await rig(t);
  const options = {
    core: fakeCore(),
    token,
    about: { name: 'wraptool', version: '0', instructions: '' },
    fault: () => undefined,
    tcp: null,
    socket: null,
  };
  const port = Number(new URL(it.url).port);
  await assert.rejects(listen({ ...options, tcp: { host: '127.0.0.1', port } }), { code: 'address_in_use' });
  await assert.rejects(listen({ ...options, socket: { path: it.socket } }), { code: 'address_in_use' });
  const file = path.join(path.dirname(it.socket), 'file');
  fs.writeFileSync(file, 'precious');
  await assert.rejects(listen({ ...options, socket: { path: file } }), { code: 'address_in_use' });
  assert.equal(fs.readFileSync(file, 'utf8'), 'precious');
  const open = path.join(path.dirname(it.socket), 'open');
  fs.mkdirSync(open);
  fs.chmodSync(open, 0o755);
  await assert.rejects(listen({ ...options, socket: { path: path.join(open, 's') } }), {
    code: 'unsafe_location',
  });
});

for (const [text, depth, deeper] of [
  ['{"a":[1]}', 2, false],
  ['{"a":[1]}', 1, true],
  [String.raw`["[[[[", "\"[[["]`, 1, false],
  [String.raw`["\\", [[1]]]`, 2, true],
  ['"', 1, false],
] as const) {
  test(`${text} is ${deeper ? '' : 'not '}deeper than ${depth}`, () =>
    assert.equal(deeperThan(text, depth), deeper));
}

test('a connection that is kept open for later does not keep a gateway that has been replaced', async (t) => {
  const it = await rig(t);
  const id = await session(it);
  const open = async (body: string) => {
    const socket = net.connect(Number(new URL(it.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(post(body, id));
    return socket;
  };
  const calling = await open(call('tools/call', { name: 'hang', arguments: {} }));
  const idle = await open(call('ping'));
  await once(idle, 'data');
  while (it.core.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const left = it.listening.leave();
  idle.resume();
  await once(idle, 'close');
  assert.equal(calling.destroyed, false, 'the call goes on');
  assert.deepEqual(it.core.cancelled, []);
  await it.listening.close();
  await left;
});
