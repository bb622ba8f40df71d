/** Well-behaved servers: what is listed, what is passed on, what is kept. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { call, listed, place, result, scrub, secret, textOf, until } from './place.ts';

const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);

void test('a list is empty until a lazy server is up, then told and shown under registered names, sorted', async (t) => {
  const p = await place(t);
  const upstreams = p.start({
    b: p.server([], { allow: ['wait', 'echo', 'absent'] }),
    a: p.server([], { allow: ['echo', 'log'], deny: ['log'] }),
  });
  let told = 0;
  upstreams.onChanged(() => (told += 1));
  assert.deepEqual(upstreams.list({ start: false }), []);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([p.processes(), upstreams.status().map(({ state }) => state)], [[], ['idle', 'idle']]);
  assert.deepEqual(upstreams.list(), []);
  await until(() => upstreams.list().length === 3, 'three tools are listed');
  assert.deepEqual(names(upstreams.list()), ['a__echo', 'b__echo', 'b__wait']);
  assert.equal(told, 2);
  assert.deepEqual(
    upstreams
      .status()
      .map(({ state, identity, tools, hidden, missing }) => ({ state, identity, tools, hidden, missing })),
    [
      { state: 'ready', identity: 'fixture 1', tools: ['echo'], hidden: [], missing: [] },
      { state: 'ready', identity: 'fixture 1', tools: ['echo', 'wait'], hidden: [], missing: ['absent'] },
    ],
  );
});

void test('a definition passes unchanged but for its name, and a secret in its description', async (t) => {
  const p = await place(t);
  const tool = {
    name: 'json_schema',
    title: 'T',
    description: `uses ${secret}`,
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: { street: { type: 'string', default: null } } } },
      properties: { address: { $ref: '#/$defs/address' }, __proto__: { type: 'number', minimum: 1e-7 } },
      additionalProperties: false,
    },
    outputSchema: { type: 'object' },
    annotations: { readOnlyHint: true, unknownHint: [1] },
    execution: { taskSupport: 'optional' },
    'x-unknown': { kept: [null] },
  };
  const upstreams = p.start({ s: p.server(['--tools', JSON.stringify([tool])], { allow: ['json_schema'] }) });
  await listed(upstreams, 's');
  assert.deepEqual(upstreams.list(), [
    { ...tool, name: 's__json_schema', description: 'uses [redacted:SECRET]' },
  ]);
});

void test('arguments pass unchanged, absent ones stay absent, and what is no object is refused', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const args = JSON.parse(
    '{"value":"a\\u0000\\u2028\\ud83d\\ude00","n":[1e21,-0.5,null,true],"__proto__":{"x":1},"":{},"deep":[[[[]]]]}',
  ) as unknown;
  const { structuredContent } = await result(upstreams, 's__echo', args);
  assert.equal(JSON.stringify(structuredContent), JSON.stringify(args));
  assert.equal(await textOf(upstreams, 's__echo', undefined), '{}');
  for (const wrong of [null, [], 'text', 1])
    assert.equal(
      await textOf(upstreams, 's__echo', wrong),
      "error: upstream server 's' takes an object as arguments",
    );
});

void test('all kinds of content come through, scrubbed in their strings', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const given = await result(upstreams, 's__every', { secret });
  const plain = await result(upstreams, 's__every', { secret: 'nothing' });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  assert.equal(JSON.stringify(given).includes(secret), false);
  const swapped = JSON.stringify(plain)
    .replaceAll(base64('<svg>nothing</svg>'), base64('<svg>[redacted:SECRET]</svg>'))
    .replaceAll(base64('blob nothing'), base64('blob [redacted:SECRET]'))
    .replaceAll('nothing', '[redacted:SECRET]');
  assert.deepEqual(given, JSON.parse(swapped));
  assert.deepEqual(
    plain.content.map(({ type }) => type),
    ['text', 'image', 'image', 'audio', 'resource', 'resource', 'resource', 'resource_link', 'of_the_future'],
  );
});

void test('an error of a tool stays one, and an error of the protocol becomes one that names the server', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  assert.equal(await textOf(upstreams, 's__failing'), 'error: it went wrong');
  assert.equal(
    await textOf(upstreams, 's__error', { message: `no ${secret}` }),
    "error: upstream server 's' answered with error -32000: no [redacted:SECRET]",
  );
  assert.equal(
    await textOf(upstreams, 's__malformed', { result: { content: 1 } }),
    "error: upstream server 's' sent a malformed tool result: 'content' is no list of blocks",
  );
});

void test('what is not allowed is refused without a start, whatever the server has', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server([], { allow: ['echo', 'log'], deny: ['log'] }) });
  const refused = (detail: string) => ({ kind: 'refused', reason: 'upstream_tool_not_allowed', detail });
  for (const tool of ['log', 'wait', 'ECHO', 'echo ', '', '__echo', 'absent'])
    assert.deepEqual(
      await call(upstreams, `s__${tool}`),
      refused(`tool '${tool}' of upstream server 's' is not in its allowlist`),
    );
  for (const name of ['other__echo', 'echo', '', 's_echo', '__echo'])
    assert.deepEqual(await call(upstreams, name), refused(`there is no upstream tool '${name}'`));
  assert.deepEqual(p.events, []);
  const absent = p.start({ s: p.server([], { allow: ['absent'] }) });
  assert.deepEqual(await call(absent, 's__absent'), refused("upstream server 's' has no tool 'absent'"));
});

void test('a server gets the fixed environment, an empty private folder and its configured values alone', async (t) => {
  const p = await place(t);
  const upstreams = p.start({
    own: p.server([], { env: { TOKEN: 'x=y\nz', HOME: '/dev/null/home' } }),
    placed: p.server([], { cwd: p.dir }),
  });
  const facts = async (name: string) =>
    (await result(upstreams, name)).structuredContent as {
      env: Record<string, string>;
      cwd: string;
      argv0: string;
    };
  const own = await facts('own__environment');
  const { MARK: _mark, ...env } = own.env;
  assert.deepEqual(env, {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/dev/null/home',
    LANG: 'C.UTF-8',
    TOKEN: 'x=y\nz',
  });
  assert.equal(path.dirname(own.cwd), p.runDir);
  assert.equal(realpathSync(own.argv0), realpathSync(process.execPath));
  const placed = await facts('placed__environment');
  assert.deepEqual([placed.cwd, placed.env['HOME']], [p.dir, '/root']);
});

void test('progress is passed on in order, and only where it is asked for', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const seen: unknown[] = [];
  const text = await textOf(upstreams, 's__progress', {}, { progress: (progress) => seen.push(progress) });
  assert.equal(text, 'true');
  assert.deepEqual(
    seen,
    [0, 50, 100].map((progress) => ({ progress, total: 100, message: `at ${progress}` })),
  );
  assert.equal(await textOf(upstreams, 's__progress'), 'false');
});

void test('cancelling a call tells the server, ends the call at once, and the server lives on', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  await textOf(upstreams, 's__echo');
  const controller = new AbortController();
  const waiting = textOf(upstreams, 's__wait', {}, { signal: controller.signal });
  await new Promise((resolve) => setTimeout(resolve, 50));
  controller.abort();
  assert.equal(await waiting, "error: upstream server 's' was told to stop: the call was cancelled");
  await until(() => p.output('s').some((line) => line.startsWith('cancelled ')), 'the server was told');
  assert.equal(await textOf(upstreams, 's__echo', { after: 1 }), '{"after":1}');
  assert.deepEqual(
    [p.kinds('s').filter((kind) => kind !== 'output'), upstreams.status()[0]!.restarts],
    [['started'], 0],
  );
  const before = await textOf(upstreams, 's__echo', {}, { signal: AbortSignal.abort() });
  assert.match(before, /^error: upstream server 's' /);
});

void test('a call is bounded in time, and the server is told', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server([], { timeout: 150 }) });
  assert.equal(await textOf(upstreams, 's__wait'), "error: upstream server 's' did not answer within 0.15 s");
  await until(() => p.output('s').some((line) => line.includes('did not answer')), 'the server was told');
});

void test('a server may ping, and what else it asks is refused cleanly', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  assert.equal(await textOf(upstreams, 's__ping'), '{"result":{}}');
  for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list', 'x'.repeat(300)])
    assert.equal(
      await textOf(upstreams, 's__ask', { method }, { forward: async () => assert.fail('not offered') }),
      JSON.stringify({
        error: { code: -32601, message: `'${method.slice(0, 100)}' is not supported by this client` },
      }),
    );
});

void test('a request of the server goes to the one call in flight that takes it', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() }, { forwards: ['sampling'] });
  const asked: unknown[] = [];
  const forward = async (request: { method: string; params: unknown }) => {
    asked.push(request);
    return { role: 'assistant', content: { type: 'text', text: 'hello' } };
  };
  const ask = { method: 'sampling/createMessage', params: { prompt: `what is ${secret}` } };
  assert.equal(
    await textOf(upstreams, 's__ask', ask, { forward }),
    '{"result":{"role":"assistant","content":{"type":"text","text":"hello"}}}',
  );
  assert.deepEqual(asked, [{ method: ask.method, params: { prompt: 'what is [redacted:SECRET]' } }]);
  assert.match(await textOf(upstreams, 's__ask', ask), /-32601/);
  assert.match(await textOf(upstreams, 's__ask', { method: 'elicitation/create' }, { forward }), /-32601/);
  const controller = new AbortController();
  const other = call(upstreams, 's__wait', {}, { signal: controller.signal });
  assert.match(await textOf(upstreams, 's__ask', ask, { forward }), /-32601/);
  controller.abort();
  await other;
  assert.match(
    await textOf(upstreams, 's__ask', ask, { forward: () => Promise.reject(new Error(secret)) }),
    /could not answer/,
  );
  assert.equal(asked.length, 1);
});

void test('a request that is forwarded ends with its call', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() }, { forwards: ['elicitation'] });
  const controller = new AbortController();
  let ended = false;
  const forward = (_request: unknown, signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended = true;
        reject(new Error('over'));
      });
      controller.abort();
    });
  await call(upstreams, 's__ask', { method: 'elicitation/create' }, { forward, signal: controller.signal });
  assert.equal(ended, true);
});

void test('what a server logs goes to the calls in flight and to the events, scrubbed', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const seen: unknown[] = [];
  await textOf(upstreams, 's__log', { data: { note: secret } }, { message: (message) => seen.push(message) });
  const message = { level: 'info', logger: 'fixture', data: { note: '[redacted:SECRET]' } };
  assert.deepEqual(seen, [message]);
  assert.deepEqual(
    p.events.filter(({ kind }) => kind === 'message'),
    [{ server: 's', kind: 'message', message }],
  );
  upstreams.setLogLevel('debug');
  await until(() => p.output('s').includes('level debug'), 'the level was set');
  await upstreams.restart('s');
  await until(
    () => p.output('s').filter((line) => line === 'level debug').length === 2,
    'the level was set again',
  );
});

void test('lines of stderr are scrubbed, cut and counted', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() });
  const many = Array.from({ length: 1_000 }, (_, number) => `line ${number}`);
  await textOf(upstreams, 's__noisy', { lines: [`with ${secret}`, 'z'.repeat(10_000), ...many] });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await textOf(upstreams, 's__noisy', { lines: ['last'] });
  await until(() => p.output('s').includes('last'), 'the last line came');
  const [first, long] = p.output('s');
  assert.deepEqual([first, long], ['with [redacted:SECRET]', 'z'.repeat(2_000)]);
  assert.ok(p.output('s').length < 500);
  assert.ok(p.output('s').some((line) => /^\[\d+ lines are left out\]$/.test(line)));
});

void test('a list over pages is read whole', async (t) => {
  const p = await place(t);
  const [paged, whole] = [p.server(['--pages', '7']), p.server()];
  const upstreams = p.start({ paged, whole });
  await listed(upstreams, 'paged');
  await listed(upstreams, 'whole');
  const [one, other] = upstreams.status();
  assert.deepEqual(one!.tools, other!.tools);
});

void test('a list that changes is followed, and told once for each change', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server([], { pin: false, allow: ['echo', 'redescribe'] }) });
  await listed(upstreams, 's');
  const told: string[] = [];
  upstreams.onChanged(() => told.push(String(upstreams.list()[0]!.description)));
  await textOf(upstreams, 's__redescribe', { description: 'new' });
  await until(() => told.length === 1, 'the change was told');
  await textOf(upstreams, 's__redescribe', { description: 'new' });
  await textOf(upstreams, 's__echo');
  assert.deepEqual(told, ['new']);
});

void test('many calls at once are answered each with its own, and one too many is refused', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server() }, { limits: { callsInFlight: 32 } });
  const calls = Array.from({ length: 32 }, (_, number) => textOf(upstreams, 's__echo', { number }));
  assert.deepEqual(await call(upstreams, 's__echo'), {
    kind: 'refused',
    reason: 'busy',
    detail: "upstream server 's' has too many calls at once",
  });
  assert.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 32 }, (_, number) => `{"number":${number}}`),
  );
});

void test('an eager server is started at once', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server([], { start: 'eager' }) });
  await until(() => upstreams.list({ start: false }).length > 0, 'its tools are listed');
});

void test('what was last known is shown before a lazy server is started again', async (t) => {
  const p = await place(t);
  const server = p.server([], { allow: ['echo', 'log'] });
  const first = p.start({ s: server });
  await listed(first, 's');
  const shown = first.list();
  await first.close();
  const second = p.start({ s: server });
  assert.deepEqual([second.list({ start: false }), second.status()[0]!.state], [shown, 'idle']);
  const third = p.start({ s: { ...server, deny: ['log'] } });
  assert.deepEqual(names(third.list({ start: false })), ['s__echo']);
});

void test('close ends servers and calls, and is safe to repeat', async (t) => {
  const p = await place(t);
  const upstreams = p.start({ s: p.server(), slow: p.server(['--delay', '30000']) });
  await textOf(upstreams, 's__echo');
  const [running, starting] = [textOf(upstreams, 's__wait'), textOf(upstreams, 'slow__echo')];
  await until(() => p.processes().length === 2, 'both run');
  await Promise.all([upstreams.close(), upstreams.close()]);
  assert.deepEqual(p.processes(), []);
  assert.equal(await running, "error: upstream server 's' was stopped");
  assert.match(await starting, /^error: upstream server 'slow' /);
  assert.equal(await textOf(upstreams, 's__echo'), "error: upstream server 's' is not configured any more");
  assert.deepEqual(
    upstreams.status().map(({ state }) => state),
    ['stopped', 'stopped'],
  );
});

void test('scrubbing sees a secret over two chunks of stderr', () => {
  const stream = scrub.stream();
  assert.equal(
    stream.push(`a ${secret.slice(0, 5)}`) + stream.push(`${secret.slice(5)}\n`) + stream.end(),
    'a [redacted:SECRET]\n',
  );
});
