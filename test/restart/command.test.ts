/** `wraptool restart` as it is typed: output, exit codes, what it leaves on disk. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processRef } from '../../src/supervise/process.ts';
import { recordNamespace, setMarker } from '../../src/restart/store.ts';
import { recordsOf } from './records.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const root = await mkdtemp(path.join(os.tmpdir(), 'wraptool-restart-'));
after(() => rm(root, { recursive: true, force: true }));

let count = 0;
async function place() {
  const home = path.join(root, String((count += 1)));
  await mkdir(path.join(home, 'run'), { recursive: true, mode: 0o700 });
  return {
    HOME: home,
    XDG_STATE_HOME: path.join(home, 'state'),
    XDG_RUNTIME_DIR: path.join(home, 'run'),
    NO_COLOR: '1',
  };
}
type Env = Awaited<ReturnType<typeof place>> & Readonly<Record<string, string>>;

/** Runs with nothing of this process's environment but PATH. */
function run(env: Readonly<Record<string, string>>, ...args: string[]) {
  return new Promise<{ code: number; out: string; err: string }>((resolve, reject) => {
    const options = { env: { PATH: process.env['PATH'], ...env } };
    execFile(process.execPath, [main, 'restart', ...args], options, (error, out, err) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, out, err });
      else reject(error ?? new Error('no exit code'));
    });
  });
}

/** A session of which this very test is supervisor and gateway. */
async function liveSession(env: Env, name: string): Promise<void> {
  const self = await processRef(process.pid);
  const dir = path.join(env.XDG_RUNTIME_DIR, 'wraptool', name);
  const config = path.join(env.HOME, 'config.yaml');
  await writeFile(config, 'version: 1\nmcp_servers:\n  tracker: { command: /usr/bin/true, allow: [get] }\n', {
    mode: 0o600,
  });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const state = {
    version: 1,
    name,
    id: '0123456789abcdef',
    supervisor: self,
    gateway: self,
    gatewayFault: null,
    config,
    status: 'running',
  };
  await writeFile(path.join(dir, 'session.json'), JSON.stringify(state), { mode: 0o600 });
}

const now = new Date();

describe('classify', { concurrency: 2 }, () => {
  test('exits 3 for a kill of a known pid, and says so as JSON', async () => {
    const { code, out } = await run(
      await place(),
      'classify',
      '--pid',
      '4242',
      '--pid',
      '31337',
      '--json',
      'kill -9 31337',
    );
    assert.equal(code, 3);
    assert.deepEqual(JSON.parse(out), {
      process_kill: true,
      contamination: true,
      sanctioned: false,
      clean_claim_allowed: false,
      reason_class: 'manual_daemon_kill',
      redacted_command: 'kill -9 31337',
      contamination_marker: 'contaminated_runtime',
      sanctioned_alternative: 'wraptool restart NAMESPACE --confirm "restart NAMESPACE"',
    });
  });
  test('exits 0 for what is none, with the command behind --', async () => {
    const { code, out } = await run(await place(), 'classify', '--json', '--', 'echo kill');
    assert.deepEqual([code, JSON.parse(out).sanctioned], [0, true]);
  });
  test('says it in words, hidden characters shown', async () => {
    const { code, out } = await run(await place(), 'classify', 'pkill -f wraptool # \u202e');
    assert.deepEqual(
      [code, out.split('\n')[0]],
      [3, 'contaminating (pattern_kill): pkill -f wraptool # \\u{202e}'],
    );
  });
  test('knows the pids of live sessions by itself', async () => {
    const env = await place();
    await liveSession(env, 'claude-app');
    assert.equal((await run(env, 'classify', `kill ${process.pid}`)).code, 3);
    assert.equal((await run(await place(), 'classify', `kill ${process.pid}`)).code, 0);
  });
  test('never runs anything', async () => {
    const env = await place();
    const file = path.join(env.HOME, 'made');
    await run(env, 'classify', `touch ${file}; $(touch ${file}); kill 4242`);
    assert.equal((await readdir(env.HOME)).includes('made'), false);
  });
  for (const args of [[], ['--pid', 'x', 'ls'], ['--pid', '0', 'ls'], ['a', 'b']])
    test(`${JSON.stringify(args)} is a wrong command line`, async () =>
      assert.equal((await run(await place(), 'classify', ...args)).code, 2));
});

test('policy lists live and recorded namespaces', async () => {
  const env = await place();
  await liveSession(env, 'claude-app');
  await recordNamespace(env, { name: 'codex-web', kind: 'session' }, now);
  const { code, out } = await run(env, 'policy', '--json');
  const rules = JSON.parse(out);
  assert.equal(code, 0);
  assert.deepEqual(rules.known_namespaces, ['claude-app', 'claude-app/tracker', 'codex-web']);
  assert.deepEqual(
    [rules.policy_version, rules.modes, rules.fleet_scope_permitted],
    [1, ['restart', 'reload'], false],
  );
});

describe('a preview', { concurrency: 2 }, () => {
  test('of a recorded namespace says what it would need', async () => {
    const env = await place();
    await recordNamespace(env, { name: 'claude-app', kind: 'session' }, now);
    const { code, out } = await run(env, 'claude-app', '--preview', '--json', '--mode', 'reload');
    const shown = JSON.parse(out);
    assert.equal(code, 0);
    assert.deepEqual(
      [shown.scope_valid, shown.confirmation_phrase, shown.execution_enabled],
      [true, 'reload claude-app', false],
    );
  });
  test('of more than one is refused', async () => {
    const env = await place();
    for (const name of [' ALL ', '*', '']) {
      const { out } = await run(env, '--preview', '--json', '--', name);
      assert.equal(JSON.parse(out).scope_reason_code, 'fleet_scope_not_permitted');
    }
  });
  test('takes nothing from this command’s own environment', async () => {
    const env = {
      ...(await place()),
      WRAPTOOL_OPERATOR_AUTHORIZATION: 'granted',
      WRAPTOOL_RESTART_HOOK: 'session',
    };
    await recordNamespace(env, { name: 'claude-app', kind: 'session' }, now);
    const shown = JSON.parse((await run(env, 'claude-app', '--preview', '--json')).out);
    assert.deepEqual(
      [shown.operator_authorization, shown.restart_hook],
      [{ authorized: false }, { configured: false }],
    );
    const { code, out } = await run(env, 'claude-app', '--confirm', 'restart claude-app', '--json');
    const refused = JSON.parse(out);
    assert.deepEqual(
      [code, refused.reason_code, refused.success],
      [3, 'operator_authorization_missing', false],
    );
    assert.deepEqual(refused.gates_passed, ['scope', 'capability', 'confirmation']);
  });
});

describe('reconcile', () => {
  test('clears the markers of one namespace, and the log tells who and why', async () => {
    const env = await place();
    const marker = await setMarker(
      env,
      { name: 'claude-app', kind: 'session' },
      { reason: 'killed_by_signal', detail: 'SIGKILL' },
      now,
    );
    assert.deepEqual(
      JSON.parse((await run(env, 'reconcile', 'claude-app', '--note', 'x', '--dry-run', '--json')).out),
      {
        namespace: 'claude-app',
        cleared: [],
        would_clear: [marker.id],
      },
    );
    assert.equal((await recordsOf(env))[0]?.markers[0]?.cleared, null);
    const { code, out } = await run(env, 'reconcile', 'claude-app', '--note', 'was me', '--json');
    assert.deepEqual([code, JSON.parse(out).cleared[0].cleared.note], [0, 'was me']);
    assert.equal((await recordsOf(env))[0]?.markers[0]?.cleared?.note, 'was me');
    const folder = path.join(env.XDG_STATE_HOME, 'wraptool', 'log');
    const [file = ''] = await readdir(folder);
    const record = JSON.parse((await readFile(path.join(folder, file), 'utf8')).trim());
    assert.deepEqual(
      [record.event, record.namespace, record.mode, record.result, record.reason, record.action_id],
      ['restart', 'claude-app', 'reconcile', 'reconciled', 'was me', 'system.reconcile_namespace'],
    );
    assert.match((await run(env, 'reconcile', 'claude-app', '--note', 'again')).out, /is not contaminated/);
  });
  test('needs a note, and a namespace that is known', async () => {
    const env = await place();
    await recordNamespace(env, { name: 'claude-app', kind: 'session' }, now);
    assert.equal((await run(env, 'reconcile', 'claude-app')).code, 2);
    assert.equal((await run(env, 'reconcile', 'claude-app', '--note', '  ')).code, 2);
    const { code, out } = await run(env, 'reconcile', 'nobody', '--note', 'x', '--json');
    assert.deepEqual([code, JSON.parse(out).error.code], [3, 'namespace_unknown']);
  });
});
