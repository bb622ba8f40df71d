/** A restart as the operator asks for it, of a session that runs: what its client notices, and what the log tells. */
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/real.ts';
import { until } from './place.ts';
import {
  allRecords,
  config,
  exists,
  gatewayOf,
  inFlight,
  inside,
  now,
  records,
  restart,
  session,
  structured,
  type Json,
} from './restart-rig.ts';
import { dirOf, live, readyPlace, runtimes } from './session.ts';

const fixture = fileURLToPath(new URL('../fixtures/mcp/server.ts', import.meta.url));

const real = { timeout: 90_000, ...needs('bubblewrap') };

describe('restart', { concurrency: 2 }, () => {
  void test(
    'a session is proven by its first checks; a restart gives another gateway, proven from inside',
    real,
    async (t) => {
      const { where } = await session(t);
      const before = await gatewayOf(where);
      const address = path.join(dirOf(where, 'life'), 'socket', 'gateway.sock');
      const { json: shown } = await restart(where, 'life', '--preview');
      assert.deepEqual(
        [shown['operator_authorization'], shown['restart_hook'], shown['confirmation_phrase']],
        [{ authorized: true }, { configured: true }, 'restart life'],
      );
      const ps = JSON.parse((await where.wraptool(['ps', '--json'])).stdout) as { sessions: Json[] };
      assert.deepEqual(ps.sessions[0]?.['health'], {
        namespace: 'life',
        status: 'clean',
        probe_source: 'client_namespace',
        clean_claim_allowed: true,
        mutations_allowed: true,
        reasons: [],
      });
      const { code, json } = await now(where);
      assert.equal(code, 0, JSON.stringify(json));
      assert.deepEqual(
        [json['allowed'], json['reason_code'], json['success'], json['result']],
        [true, 'host_action_required', false, 'restarted'],
      );
      assert.deepEqual((json['health'] as Json)['status'], 'clean');
      assert.notEqual(await gatewayOf(where), before);
      await until('the old one is gone', async () => !(await exists(before)));
      assert.deepEqual(await readdir(path.dirname(address)), ['gateway.sock']);
      assert.equal((await structured(where, 'git_status', {}))['exit_code'], 0);
      const told = (await records(where)).map(({ actor, mode, result, reason }) => [
        actor,
        mode,
        result,
        reason,
      ]);
      const actor = `uid:${process.getuid?.()}`;
      assert.deepEqual(told, [
        [actor, 'restart', 'handed_over', 'host_action_required'],
        [actor, 'restart', 'restarted', 'clean'],
      ]);
    },
  );

  void test(
    'an unarmed session says so at its start, and no variable of the client changes that',
    real,
    async (t) => {
      const where = await readyPlace(t, 'bubblewrap');
      const it = await live(t, 'bubblewrap', { where });
      const env = { WRAPTOOL_OPERATOR_AUTHORIZATION: '1', WRAPTOOL_RESTART_HOOK: 'session' };
      const words = ['restart', 'life', '--confirm', 'restart life', '--json'];
      const { code, stdout } = await where.wraptool(words, { env });
      assert.equal(code, 3);
      assert.equal((JSON.parse(stdout) as Json)['reason_code'], 'operator_authorization_missing');
      assert.deepEqual(
        (await records(where)).map(({ result, reason }) => [result, reason]),
        [['refused', 'operator_authorization_missing']],
      );
      assert.match((await it.end()).stderr, /restart: not armed/);
    },
  );

  void test('the variables of the supervisor itself arm it', real, async (t) => {
    const where = await readyPlace(t, 'bubblewrap');
    const env = { WRAPTOOL_OPERATOR_AUTHORIZATION: 'yes', WRAPTOOL_RESTART_HOOK: 'session' };
    const it = await live(t, 'bubblewrap', { where, env });
    assert.equal((await now(where, 'reload')).json['result'], 'reloaded');
    const { json } = await restart(where, 'life', '--confirm', 'reload life');
    assert.equal(json['reason_code'], 'confirmation_mismatch');
    const none = await restart(where, 'life', '--confirm', 'restart life');
    assert.deepEqual([none.code, none.json['health']], [0, undefined]);
    await until('it was done', async () =>
      (await records(where)).some(({ result }) => result === 'restarted'),
    );
    assert.match((await it.end()).stderr, /restart: armed/);
  });

  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    void test(
      `a gateway ended by hand (${signal}) is on record until it is cleared, then a restart makes it clean`,
      real,
      async (t) => {
        const { where } = await session(t);
        process.kill(await gatewayOf(where), signal);
        const status = async () =>
          (JSON.parse((await where.wraptool(['ps', '--json'])).stdout) as { sessions: Json[] }).sessions[0];
        await until('ps shows it', async () => String((await status())?.['status']).includes('contaminated'));
        assert.match(
          String((await status())?.['status']),
          new RegExp(`gateway ended \\(${signal}\\), contaminated`),
        );
        assert.equal(((await status()) as { health: Json }).health['status'], 'unhealthy');
        const refused = await now(where);
        assert.deepEqual([refused.code, refused.json['reason_code']], [3, 'contaminated_runtime']);
        const cleared = await where.wraptool(['restart', 'reconcile', 'life', '--note', 'it was me']);
        assert.equal(cleared.code, 0, cleared.stderr);
        const { code, json } = await now(where);
        assert.deepEqual(
          [code, json['result'], (json['health'] as Json)['status']],
          [0, 'restarted', 'clean'],
        );
        const push = await structured(where, 'git_push', { args: ['origin', 'main'] });
        assert.notEqual(push['reason_code'], 'runtime_unproven');
        const told = (await records(where)).map(({ event, namespace, mode, result, reason }) => [
          event,
          namespace,
          mode ?? null,
          result ?? null,
          reason,
        ]);
        assert.deepEqual(told, [
          ['contamination', 'life', null, null, 'killed_by_signal'],
          ['restart', 'life', 'restart', 'refused', 'contaminated_runtime'],
          ['restart', 'life', 'reconcile', 'reconciled', 'it was me'],
          ['restart', 'life', 'restart', 'handed_over', 'host_action_required'],
          ['restart', 'life', 'restart', 'restarted', 'clean'],
        ]);
      },
    );

  void test(
    'on-crash starts another, says so, and until it is cleared and proven only what reads runs',
    real,
    async (t) => {
      const it = await session(t, 'supervisor: { restart: on-crash }\n');
      const { where } = it;
      const before = await gatewayOf(where);
      process.kill(before, 'SIGKILL');
      await until('another runs', async () => ![0, before].includes(await gatewayOf(where)));
      assert.equal((await structured(where, 'git_status', {}))['exit_code'], 0);
      const push = () => structured(where, 'git_push', { args: ['origin', 'main'] });
      assert.equal((await push())['reason_code'], 'runtime_unproven');
      const { stdout } = await where.wraptool(['inspect', 'life', '--json']);
      const { health } = JSON.parse(stdout) as { health: Json };
      assert.deepEqual(
        [health['status'], health['mutations_allowed'], health['clean_claim_allowed']],
        ['unproven', false, false],
      );
      assert.equal((await now(where)).json['reason_code'], 'contaminated_runtime');
      await where.wraptool(['restart', 'reconcile', 'life', '--note', 'it was me']);
      assert.equal((await push())['reason_code'], 'runtime_unproven', 'clearing proves nothing');
      assert.equal((await now(where)).code, 0);
      assert.notEqual((await push())['reason_code'], 'runtime_unproven');
      assert.deepEqual(
        (await records(where))
          .filter(({ mode }) => mode === 'on-crash')
          .map(({ actor, result }) => [actor, result]),
        [['supervisor', 'restarted']],
      );
      assert.match(
        (await it.end()).stderr,
        /was killed by SIGKILL; it is started again[\s\S]*it is unproven/,
      );
    },
  );

  void test(
    'a config that the new gateway cannot start with: the old one goes on, and is still proven',
    real,
    async (t) => {
      const { where } = await session(t);
      const before = await gatewayOf(where);
      await where.writeConfig('version: 1\ntools: { git: { binary: /nowhere } }\n');
      for (const mode of ['restart', 'reload']) {
        const { json } = await now(where, mode);
        assert.deepEqual([json['result'], json['reason'] === null], ['kept', false], JSON.stringify(json));
        assert.equal(await gatewayOf(where), before);
        assert.equal((await structured(where, 'git_status', {}))['exit_code'], 0);
        const push = await structured(where, 'git_push', { args: ['origin', 'main'] });
        assert.ok(
          !['quiescing', 'runtime_unproven'].includes(String(push['reason_code'])),
          JSON.stringify(push),
        );
      }
    },
  );

  void test('one upstream server is started anew; the gateway and the others go on', real, async (t) => {
    const server = (flags: string[] = []) =>
      JSON.stringify({
        command: process.execPath,
        args: [fixture, ...flags],
        allow: ['echo'],
        start: 'eager',
      });
    const { where } = await session(t, `mcp_servers:\n  one: ${server()}\n  two: ${server()}\n`);
    const before = await gatewayOf(where);
    const log = path.join(dirOf(where, 'life'), 'gateway.log');
    const pids = async () =>
      [...(await readFile(log, 'utf8')).matchAll(/server '(\w+)' runs as pid (\d+)/g)].map(
        ([, name]) => name,
      );
    await until('both run', async () => (await pids()).length === 2);
    const { code, json } = await now(where, 'restart', 'life/one');
    assert.deepEqual(
      [code, json['result'], (json['health'] as Json)['namespace']],
      [0, 'restarted', 'life/one'],
    );
    assert.deepEqual(
      (await pids()).map(String).toSorted((a, b) => a.localeCompare(b)),
      ['one', 'one', 'two'],
    );
    assert.equal(await gatewayOf(where), before);
    const phrase = await restart(where, 'life/two', '--confirm', 'restart life/one');
    assert.equal(phrase.json['reason_code'], 'confirmation_mismatch');
    const nobody = await restart(where, 'life/three', '--confirm', 'restart life/three');
    assert.equal(nobody.json['reason_code'], 'unknown_namespace');
  });

  for (const { name: runtime, part } of runtimes)
    void test(
      `${runtime}: a client that was there before notices nothing, and its calls in flight end`,
      { timeout: 120_000, ...needs(part) },
      async (t) => {
        const slow = '  sleep: { binary: /usr/bin/sleep, allow: [{ args: [{ pattern: "[0-9]" }] }] }\n';
        const { where } = await session(t, '', runtime, slow);
        const client = inside(t, where);
        const hello = {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'old', version: '1' },
        };
        await client('initialize', hello);
        const status = () => client('tools/call', { name: 'git_status', arguments: {} });
        assert.equal((await status())['isError'], false);
        for (let round = 0; round < 2; round += 1) {
          const flight = client('tools/call', { name: 'sleep', arguments: { args: ['2'] } });
          await until('it is in flight', async () => (await allRecords(where)).some(inFlight));
          const restarted = now(where);
          assert.equal((await status())['isError'], false, 'what reads runs meanwhile');
          assert.deepEqual((await flight)['isError'], false);
          assert.equal((await restarted).code, 0);
          assert.equal((await status())['isError'], false);
        }
      },
    );

  void test('a gateway that hangs is replaced all the same, and ended by its supervisor', real, async (t) => {
    const { where } = await session(t);
    const before = await gatewayOf(where);
    process.kill(before, 'SIGSTOP');
    const { code, json } = await now(where);
    assert.deepEqual([code, json['result'], (json['health'] as Json)['status']], [0, 'restarted', 'clean']);
    await until('the old one is gone', async () => !(await exists(before)));
    assert.deepEqual(
      (await records(where)).filter(({ event }) => event === 'contamination'),
      [],
    );
  });

  void test('a probe tool that fails keeps a restarted gateway from being clean', real, async (t) => {
    const { where } = await session(t);
    await where.writeConfig(`${config}supervisor: { probe_tool: git_push }\n`);
    const { code, json } = await now(where);
    const health = json['health'] as Json;
    assert.deepEqual([code, health['status'], health['mutations_allowed']], [1, 'unhealthy', false]);
    assert.match(String(health['reasons']), /git_push/);
    const push = await structured(where, 'git_push', { args: ['origin', 'main'] });
    assert.equal(push['reason_code'], 'runtime_unproven');
  });
});
