/** A gateway of `serve --name`: its restart is the service manager's, its contamination its own. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setMarker } from '../../src/restart/store.ts';
import { createSession } from '../../src/up/session.ts';
import { recordsOf } from './records.ts';
import { armed, host, run, type Json } from './serve-support.ts';
import { askPreview, askRestart } from '../../src/up/control/restart-client.ts';
import { eventsOf } from '../gateway/records.ts';
import { call, connect } from '../gateway/support.ts';
import { until } from '../support/until.ts';

/** A session's facts: this process is its supervisor. */
const about = ({ src, config }: { readonly src: string; readonly config: string }) => ({
  harness: 'shell',
  runtime: 'bubblewrap',
  workspace: src,
  roots: [src],
  owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
  config,
  remotes: {},
  shared: [],
});

describe('serve --name', { concurrency: 2 }, () => {
  void test('the hook names its unit: systemctl is asked by a fixed command line, and nobody is shown the unit', async (t) => {
    const { it, asked, calls } = await host(t, armed);
    const { code, json } = await asked('--confirm', 'restart tools', '--wait');
    assert.deepEqual(
      [code, json['allowed'], json['result'], (json['health'] as Json)['status']],
      [1, true, 'requested', 'unproven'],
    );
    assert.equal(await calls(), '--no-block restart -- wraptool@tools.service\n');
    assert.doesNotMatch(JSON.stringify(json), /service/);
    const failed = await asked('--mode', 'reload', '--confirm', 'reload tools', '--wait');
    assert.deepEqual(
      [failed.code, failed.json['result'], failed.json['reason']],
      [1, 'failed', 'gateway_failed'],
    );
    assert.deepEqual(
      (await eventsOf(it.log, 'restart')).map(({ mode, result }) => [mode, result]),
      [
        ['restart', 'handed_over'],
        ['restart', 'requested'],
        ['reload', 'handed_over'],
        ['reload', 'failed'],
      ],
    );
  });

  for (const [name, vars, reason] of [
    ['nobody armed it', {}, 'operator_authorization_missing'],
    [
      'a session’s hook is none here',
      { ...armed, WRAPTOOL_RESTART_HOOK: 'session' },
      'restart_hook_not_configured',
    ],
    [
      'a command line is no hook',
      { ...armed, WRAPTOOL_RESTART_HOOK: 'systemctl restart wraptool' },
      'restart_hook_not_configured',
    ],
  ] as const)
    void test(`refused, nothing is run: ${name}`, async (t) => {
      const { asked, calls } = await host(t, vars);
      const { code, json } = await asked('--confirm', 'restart tools');
      assert.deepEqual([code, json['reason_code'], await calls()], [3, reason, '']);
    });

  void test('a page asks with the rights of its login, and the log has both', async (t) => {
    const { it, calls } = await host(t, armed);
    const words = { namespace: 'tools', mode: 'restart', confirm: 'restart tools' };
    const ask = async (login: 'viewer' | 'operator' | null) =>
      (await askRestart(it.env, 'tools', { ...words, login }, true, () => undefined)).answer.reason_code;
    assert.deepEqual(
      [await ask('viewer'), await ask(null), await calls()],
      ['unauthorized', 'unauthorized', ''],
    );
    assert.equal(await ask('operator'), 'host_action_required');
    const { authorization } = await askPreview(it.env, 'tools', { ...words, login: 'viewer' });
    assert.deepEqual([authorization.authorized, authorization.role], [false, 'viewer']);
    const own = `uid:${process.getuid?.()}`;
    assert.deepEqual(
      (await eventsOf(it.log, 'restart')).map(({ actor }) => actor),
      [`${own} web:viewer`, `${own} web:unknown`, `${own} web:operator`, `${own} web:operator`],
    );
  });

  void test('it is exempt from proof, but not while it is contaminated', async (t) => {
    const { it, gateway, asked } = await host(t, armed);
    const client = await connect(t, gateway.ready.url ?? '', it.src);
    const echo = async () =>
      (await call(client, 'echo', { args: ['hi'] })).structuredContent?.['reason_code'];
    assert.equal(await echo(), undefined);
    assert.deepEqual(
      (await recordsOf(it.env)).map(({ name, kind }) => [name, kind]),
      [['tools', 'serve']],
    );
    await setMarker(
      it.env,
      { name: 'tools', kind: 'serve' },
      { reason: 'manual_daemon_kill', detail: '' },
      new Date(),
    );
    assert.equal(await echo(), 'runtime_unproven');
    assert.equal((await call(client, 'seq', { args: ['2'] })).isError, false);
    assert.equal((await asked('--confirm', 'restart tools')).json['reason_code'], 'contaminated_runtime');
    const cleared = await run(it.env, 'restart', 'reconcile', 'tools', '--note', 'me', '--config', it.config);
    assert.equal(cleared.code, 0, cleared.err);
    assert.equal(await echo(), undefined);
  });

  void test('two of one name are refused; what a dead one left is no hindrance', async (t) => {
    const { it, gateway, asked } = await host(t, armed);
    const words = ['serve', '--config', it.config, '--json', '--name', 'tools'];
    const second = await run(it.env, ...words);
    assert.equal(second.code, 1);
    assert.equal(
      (JSON.parse(second.out.trim().split('\n').at(-1) ?? '') as { error: Json }).error['code'],
      'address_in_use',
    );
    await assert.rejects(createSession(it.env, { given: 'tools', proposed: 'x' }, about(it)), {
      code: 'session_exists',
    });
    assert.equal((await createSession(it.env, { proposed: 'tools' }, about(it))).state.name, 'tools-2');
    const taken = await run(it.env, 'serve', '--config', it.config, '--json', '--name', 'tools-2');
    assert.deepEqual(
      [taken.code, (JSON.parse(taken.out.trim().split('\n').at(-1) ?? '') as { error: Json }).error['code']],
      [1, 'address_in_use'],
    );
    gateway.child.kill('SIGKILL');
    await until('it is gone', () => gateway.child.signalCode);
    const nobody = await asked('--confirm', 'restart tools');
    assert.deepEqual([nobody.code, nobody.json['reason_code']], [3, 'operator_authorization_missing']);
    await it.serve({ args: words });
  });
});
