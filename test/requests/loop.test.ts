/** From a denial to a decision and back: a real client, a real gateway, the operator’s real commands. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { call, connect, textOf } from '../gateway/support.ts';
import { records } from '../gateway/records.ts';
import { until } from '../support/until.ts';
import { ground, parsed, requestOf } from './support.ts';

const iso = ['--utc', '--iso-8601'];

test('denied, discovered, requested with wait, approved with --apply in another terminal, run at once, listed', async (t) => {
  const { it, client, run, wraptool } = await ground(t, (config) =>
    config.replace(
      '\ntools:\n',
      '\ntools:\n  env: # nothing yet\n    binary: /usr/bin/env\n    guard: none\n',
    ),
  );
  const before = fs.readFileSync(it.config, 'utf8');
  const denial = await run(['--null'], 'env');
  assert.equal(denial.structuredContent?.['reason_code'], 'no_allow_rules');
  const discovered = await call(client, 'wraptool_discover');
  assert.match(textOf(discovered), /"env":\{"allowed":\[\],/);
  let changed = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changed += 1));
  const beats: string[] = [];
  const open = client.callTool(
    { name: 'wraptool_request_capability', arguments: { ...requestOf(denial), wait: 40 } },
    undefined,
    { onprogress: ({ message }) => beats.push(message ?? '') },
  );
  const id = await until('it is listed', async () => {
    const listed = JSON.parse((await wraptool('requests', 'list', '--json')).stdout) as { id: string }[];
    return listed[0]?.id;
  });
  const approved = await wraptool('requests', 'approve', id, '--apply', '--json');
  assert.equal(approved.code, 0, approved.stderr);
  const { verdict, changed: written, gateway } = parsed(approved);
  assert.deepEqual({ verdict, written, gateway }, { verdict: 'allow', written: true, gateway: 'in force' });
  assert.deepEqual((await open).structuredContent, { request_id: id, status: 'approved', verdict: 'allow' });
  assert.match(beats[0] ?? '', new RegExp(id));
  const ran = await run(['--null'], 'env');
  assert.equal(ran.isError, false, textOf(ran));
  await until('list_changed', () => changed > 0);
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'env'));
  const named = await call(client, 'env', { flags: { '--null': true } });
  assert.equal(named.isError, false, textOf(named));
  // Exactly as wide as the call, and nothing but the addition.
  const after = fs.readFileSync(it.config, 'utf8');
  const added = after.split('\n').filter((line) => !before.split('\n').includes(line));
  assert.deepEqual(
    added.map((line) => line.replaceAll('"', '')),
    ['      - flags: [--null]', '        flag_constraints: { --null: { value: none, required: true } }'],
  );
  assert.ok(before.split('\n').every((line) => after.includes(line)));
  assert.equal((await run(['--null', 'ls'], 'env')).isError, true);
  assert.equal((await run([], 'env')).isError, true);
  assert.equal((await wraptool('log', 'verify', '--json')).code, 0);
});

test('a denied request gives the reason to the open call, and to an equal request within the hour', async (t) => {
  const { run, ask, wraptool } = await ground(t);
  const request = requestOf(await run(iso));
  const open = ask({ ...request, wait: 40 });
  const id = await until(
    'it is listed',
    async () => /req_[0-9a-f]{8}/.exec((await wraptool('requests')).stdout)?.[0],
  );
  // A unique prefix is enough.
  const done = await wraptool('requests', 'deny', id.slice(0, 8), '--reason', 'use --utc', '--json');
  assert.equal(done.code, 0, done.stderr);
  assert.deepEqual(await open, { request_id: id, status: 'denied', reason: 'use --utc' });
  assert.deepEqual(await ask({ ...request, wait: 10 }), {
    request_id: id,
    status: 'denied',
    reason: 'use --utc',
  });
  const again = await wraptool('requests', 'approve', id, '--yes', '--json');
  assert.deepEqual([again.code, (parsed(again)['error'] as { code: string }).code], [3, 'request_decided']);
});

const scopes: readonly [sentence: string, flags: string[], uses: number][] = [
  ['without a scope: for one call', [], 1],
  ['--once: for one call', ['--once'], 1],
  ['--uses 2: for two calls', ['--uses', '2'], 2],
  ['--session: until it is revoked', ['--session'], 3],
  ['--for 1h: until it is revoked', ['--for', '1h'], 3],
];

for (const [sentence, flags, uses] of scopes)
  test(`approved ${sentence}`, async (t) => {
    const { it, run, ask, wraptool } = await ground(t);
    const before = fs.readFileSync(it.config);
    const asked = await ask(requestOf(await run(iso)));
    assert.equal(asked['status'], 'pending');
    const approved = await wraptool(
      'requests',
      'approve',
      String(asked['request_id']),
      '--yes',
      '--json',
      ...flags,
    );
    assert.equal(approved.code, 0, approved.stderr);
    assert.equal(parsed(approved)['verdict'], 'allow');
    for (let use = 1; use <= uses; use += 1) {
      const ran = await run(iso);
      assert.equal(ran.isError, false, `${use}: ${textOf(ran)}`);
    }
    if (uses === 3) {
      const grant = String(parsed(approved)['grant']);
      assert.match((await wraptool('grants')).stdout, new RegExp(grant));
      assert.equal((await wraptool('grants', 'revoke', grant)).code, 0);
    }
    const over = await run(iso);
    assert.equal(over.structuredContent?.['reason_code'], 'flag_not_allowed');
    assert.equal((await wraptool('grants')).stdout, '');
    // Exactly that call, and never the config.
    assert.equal((await run(['--utc', '--iso-8601=ns'])).isError, true);
    assert.deepEqual(fs.readFileSync(it.config), before);
  });

test('approved --for 2s: until then, and the tool it listed is gone with it', async (t) => {
  const { client, run, ask, wraptool } = await ground(t, (config) =>
    config.replace('\ntools:\n', '\ntools:\n  env:\n    binary: /usr/bin/env\n    guard: none\n'),
  );
  const listed = async () => (await client.listTools()).tools.some(({ name }) => name === 'env');
  const { request_id: id } = await ask(requestOf(await run(['--null'], 'env')));
  let changed = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changed += 1));
  assert.equal((await wraptool('requests', 'approve', String(id), '--for', '2s')).code, 0);
  assert.equal((await run(['--null'], 'env')).isError, false);
  await until('list_changed', () => changed === 1);
  assert.equal(await listed(), true);
  assert.equal((await call(client, 'env', { flags: { '--null': true } })).isError, false);
  await until('list_changed again', () => changed === 2);
  assert.equal(await listed(), false);
  assert.equal((await run(['--null'], 'env')).isError, true);
});

test('a grant is that session’s, survives its gateway’s restart, and a deny rule beats it', async (t) => {
  const { it, gateway, run, ask, wraptool } = await ground(t);
  const { request_id: id } = await ask(requestOf(await run(iso)));
  assert.equal((await wraptool('requests', 'approve', String(id), '--for', '1h')).code, 0);
  const other = await it.serve({ args: ['serve', '--config', it.config, '--json', '--name', 'other'] });
  const stranger = await connect(t, other.ready.url ?? '', it.src);
  const theirs = await call(stranger, 'wraptool_run', { tool: 'date', argv: iso });
  assert.equal(theirs.structuredContent?.['reason_code'], 'flag_not_allowed');
  assert.equal((await call(stranger, 'wraptool_request_capability', { request_id: id })).isError, true);
  gateway.child.kill('SIGKILL');
  await once(gateway.child, 'exit');
  const again = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const rerun = () => call(again, 'wraptool_run', { tool: 'date', argv: iso });
  assert.equal((await rerun()).isError, false);
  const denying = `${fs.readFileSync(it.config, 'utf8').replace('  date:\n', '  date:\n    deny: [{ flags: [--iso-8601] }]\n')}`;
  fs.writeFileSync(it.config, denying);
  await until(
    'the deny rule is loaded',
    async () => (await rerun()).structuredContent?.['reason_code'] === 'denied_by_rule',
  );
});

test('a request that was pending when the gateway died is decided for the next one', async (t) => {
  const { it, gateway, run, ask, wraptool } = await ground(t);
  const { request_id: id } = await ask(requestOf(await run(iso)));
  gateway.child.kill('SIGKILL');
  await once(gateway.child, 'exit');
  const approved = await wraptool('requests', 'approve', String(id), '--once', '--json');
  assert.equal(parsed(approved)['gateway'], 'not running');
  const again = await connect(t, (await it.serve()).ready.url ?? '', it.src);
  const polled = await call(again, 'wraptool_request_capability', { request_id: id, wait: 1 });
  assert.deepEqual(polled.structuredContent, { request_id: id, status: 'approved', verdict: 'allow' });
  assert.equal((await call(again, 'wraptool_run', { tool: 'date', argv: iso })).isError, false);
});

test('calls that come together use a grant no oftener than it says', async (t) => {
  const { run, ask, wraptool } = await ground(t);
  const { request_id: id } = await ask(requestOf(await run(iso)));
  assert.equal((await wraptool('requests', 'approve', String(id), '--uses', '2')).code, 0);
  const results = await Promise.all(Array.from({ length: 12 }, () => run(iso)));
  assert.equal(results.filter(({ isError }) => isError === false).length, 2);
});

test('a request whose change is another than was shown is request_stale', async (t) => {
  const { it, run, ask, wraptool } = await ground(t);
  const { request_id: id } = await ask(requestOf(await run(iso)));
  const shown = parsed(await wraptool('requests', 'show', String(id), '--json'));
  fs.appendFileSync(it.config, '# an editor was here\n');
  const stale = await wraptool(
    'requests',
    'approve',
    String(id),
    '--apply',
    '--digest',
    String(shown['digest']),
    '--json',
  );
  assert.deepEqual([stale.code, (parsed(stale)['error'] as { code: string }).code], [3, 'request_stale']);
  assert.deepEqual(await ask({ request_id: id }), { request_id: id, status: 'pending' });
  const fresh = parsed(await wraptool('requests', 'show', String(id), '--json'));
  const done = await wraptool(
    'requests',
    'approve',
    String(id),
    '--apply',
    '--digest',
    String(fresh['digest']),
  );
  assert.equal(done.code, 0, done.stderr);
});

test('a new request runs the notify program with its id and tool, in an environment of its own', async (t) => {
  const { it, ask } = await ground(t, (config) => {
    const dir = /log: (.*)\/log/.exec(config)?.[1] ?? '';
    const program = path.join(dir, 'notify');
    fs.writeFileSync(
      program,
      `#!/bin/sh\n{ printf '<%s>' "$@"; echo; env; } > ${dir}/notified.new && mv ${dir}/notified.new ${dir}/notified\n`,
      { mode: 0o755 },
    );
    return config.replace(
      /requests: \{ log: (.*?) \}/,
      `requests: { log: $1, notify: [${program}, "two words; $(reboot)"] }`,
    );
  });
  const { request_id: id } = await ask({ tool: '--exec=$(id)', flags: ['--x'], rationale: '`id`' });
  const said = await until('it ran', () =>
    fs.existsSync(path.join(it.dir, 'notified'))
      ? fs.readFileSync(path.join(it.dir, 'notified'), 'utf8')
      : null,
  );
  const [first, ...env] = said.trim().split('\n');
  assert.equal(first, `<two words; $(reboot)><${String(id)}><unnamed>`);
  assert.deepEqual(
    env
      .map((line) => line.replace(/=.*/, ''))
      .filter((name) => !['_', 'PWD', 'SHLVL', 'OLDPWD'].includes(name))
      .toSorted((a, b) => (a < b ? -1 : 1)),
    ['HOME', 'LANG', 'PATH'],
  );
});

test('the log says which grant allowed a call', async (t) => {
  const { it, run, ask, wraptool } = await ground(t);
  const { request_id: id } = await ask(requestOf(await run(iso)));
  const { grant } = parsed(await wraptool('requests', 'approve', String(id), '--once', '--json'));
  const { seq } = (await run(iso)).structuredContent as { seq: string };
  const decided = (await records(it.log)).find((record) => record.event === 'decided' && record.call === seq);
  assert.ok(decided?.event === 'decided');
  assert.deepEqual(
    [decided.decision, decided.grant, decided.uses_left, decided.rule],
    ['allow', grant, 0, null],
  );
});
