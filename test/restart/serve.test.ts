/** A gateway of `serve --name`: its restart is the service manager's, its contamination its own. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setMarker } from '../../src/restart/store.ts';
import { recordsOf } from './records.ts';
import { askPreview, askRestart } from '../../src/up/control/restart-client.ts';
import { sinceBoot } from '../../src/up/control/turns.ts';
import { eventsOf } from '../gateway/records.ts';
import { call, connect, main, world } from '../gateway/support.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

/** A host whose `systemctl` writes down how it was called. */
async function host(t: TestContext, vars: Readonly<Record<string, string>>) {
  const it = world(t);
  const bin = path.join(it.dir, 'bin');
  const calls = path.join(it.dir, 'calls');
  await mkdir(bin);
  await mkdir(path.join(it.dir, 'run'), { mode: 0o700 });
  await writeFile(calls, '');
  const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> ${calls}\n[ "$2" = restart ] || { echo 'no such unit' >&2; exit 5; }\n`;
  await writeFile(path.join(bin, 'systemctl'), script);
  await chmod(path.join(bin, 'systemctl'), 0o755);
  Object.assign(it.env, {
    PATH: `${bin}:${it.env['PATH']}`,
    XDG_RUNTIME_DIR: path.join(it.dir, 'run'),
    XDG_STATE_HOME: path.join(it.dir, 'state'),
  });
  const words = ['serve', '--config', it.config, '--json', '--name', 'tools'];
  const gateway = await it.serve({ args: words, env: vars });
  const asked = async (...more: string[]) => {
    const { code, out } = await run({ ...it.env }, 'restart', 'tools', '--json', ...more);
    return { code, json: JSON.parse(out) as Json };
  };
  return { it, gateway, asked, calls: () => readFile(calls, 'utf8') };
}

function run(env: Readonly<Record<string, string>>, ...args: string[]) {
  return new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
    execFile(process.execPath, [main, ...args], { env }, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, out, err });
      else reject(error ?? new Error('no exit code'));
    });
  });
}

const armed = {
  WRAPTOOL_OPERATOR_AUTHORIZATION: '1',
  WRAPTOOL_RESTART_HOOK: 'systemd:wraptool@tools.service',
};

/** Asks for that many restarts at once, over the supervisor's own socket. */
async function flood(env: Readonly<Record<string, string>>, count: number) {
  const asked = { namespace: 'tools', mode: 'restart', confirm: 'restart tools' };
  const answers = await Promise.all(
    Array.from({ length: count }, () => askRestart(env, 'tools', asked, false, () => undefined)),
  );
  return answers.map(({ answer }) => answer);
}

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

  void test('it is restarted often, but not without bound, and its next process goes on counting', async (t) => {
    const { it, gateway, asked, calls } = await host(t, armed);
    const answers = await flood(it.env, 200);
    const over = answers.filter(({ allowed }) => !allowed);
    assert.ok(answers.length - over.length >= 60, 'a burst is done');
    assert.ok(over.length > 0, 'and what comes on top of it is refused');
    for (const one of over) {
      assert.deepEqual(
        [one.reason_code, one.success, one.gates_passed.length],
        ['restart_rate_limited', false, 6],
      );
      assert.ok((one.retry_after_seconds ?? 0) >= 1);
      assert.match(one.detail, /there is room in \d+ s/);
    }
    await until(
      'the others are done',
      async () => (await calls()).trim().split('\n').length === answers.length - over.length,
      30_000,
    );
    const refused = (await eventsOf(it.log, 'restart')).filter(({ result }) => result === 'refused');
    assert.deepEqual(
      refused.map(({ reason, mode }) => [reason, mode]),
      over.map(() => ['restart_rate_limited', 'restart']),
    );

    const file = path.join(it.dir, 'run', 'wraptool', 'tools.turns');
    const fullAt = async () => (JSON.parse(await readFile(file, 'utf8')) as { full_at: number }).full_at;
    gateway.child.kill('SIGKILL');
    await until('it is gone', () => gateway.child.signalCode);
    await writeFile(file, JSON.stringify({ full_at: sinceBoot() + 68_000 }));
    await it.serve({ args: ['serve', '--config', it.config, '--json', '--name', 'tools'], env: armed });
    const before = await fullAt();
    assert.equal((await asked('--confirm', 'restart tools')).code, 0);
    assert.ok((await fullAt()) > before - 8_000, 'those before it count');
  });

  void test('over the limit the command line ends with 3, and says when to ask again', async (t) => {
    const { it, asked } = await host(t, armed);
    await flood(it.env, 70);
    let over = false;
    // Whoever is refused asks again at once: no turn that comes back is left for another.
    const others = Array.from({ length: 12 }, async () => {
      while (!over) await flood(it.env, 1);
    });
    try {
      const { code, json } = await until(
        'it is refused',
        async () => {
          const answer = await asked('--confirm', 'restart tools');
          return answer.code === 3 ? answer : null;
        },
        60_000,
      );
      assert.deepEqual([code, json['reason_code']], [3, 'restart_rate_limited']);
      assert.ok(Number(json['retry_after_seconds']) >= 1);
      assert.match(String(json['next_action']), /ask again in \d+ s/);
    } finally {
      over = true;
      await Promise.all(others);
    }
  });

  void test('two of one name are refused; what a dead one left is no hindrance', async (t) => {
    const { it, gateway } = await host(t, armed);
    const words = ['serve', '--config', it.config, '--json', '--name', 'tools'];
    const second = await run(it.env, ...words);
    assert.equal(second.code, 1);
    assert.equal(
      (JSON.parse(second.out.trim().split('\n').at(-1) ?? '') as { error: Json }).error['code'],
      'address_in_use',
    );
    gateway.child.kill('SIGKILL');
    await until('it is gone', () => gateway.child.signalCode);
    await it.serve({ args: words });
  });
});
