/** Restarts by many at once, with a kill, a "down" or the kernel among them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, constants, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { needs } from '../support/real.ts';
import { until, type Place } from './place.ts';
import {
  callThatLasts,
  config,
  exists,
  gatewayOf,
  now,
  records,
  restart,
  session,
  slow,
  structured,
  type Json,
} from './restart-rig.ts';
import { live, readyPlace, withMarker } from './session.ts';
import { main } from '../support/main.ts';

const real = { timeout: 180_000, ...needs('bubblewrap') };

describe('all at once', { concurrency: 2 }, () => {
  void test(
    'restarts, reloads, a server’s restart and a kill: one gateway is left, the kill is on record, and a restart mends it',
    real,
    async (t) => {
      const { where, dir } = await session(t);
      const asked = ['restart', 'reload', 'restart', 'reload', 'restart'].map((mode) => now(where, mode));
      await until(
        'one has begun',
        async () =>
          (await readFile(path.join(dir, 'session.json'), 'utf8')).includes('"quiescing": true') ||
          (await readFile(path.join(dir, 'events.jsonl'), 'utf8')).includes('"result":'),
        60_000,
      );
      const killed = await gatewayOf(where);
      assert.ok(killed > 0);
      process.kill(killed, 'SIGKILL');
      const results = (await Promise.all(asked)).map(({ code, json }) => [
        code,
        json['reason_code'],
        json['result'],
      ]);
      for (const [code, reason, result] of results) {
        assert.ok(
          ['host_action_required', 'contaminated_runtime'].includes(String(reason)),
          JSON.stringify(results),
        );
        assert.ok(reason === 'contaminated_runtime' ? code === 3 : [0, 1].includes(Number(code)));
        assert.notEqual(result, 'kept');
      }
      assert.equal((await records(where)).filter(({ event }) => event === 'contamination').length, 1);
      assert.equal((await now(where)).json['reason_code'], 'contaminated_runtime');
      await where.wraptool(['restart', 'reconcile', 'life', '--note', 'the test']);
      const { code, json } = await now(where);
      assert.deepEqual([code, json['result']], [0, 'restarted'], JSON.stringify(json));
      const pid = await gatewayOf(where);
      await until(
        'the others are gone',
        async () => (await withMarker(`${dir}/gateway-`)).every((one) => one === pid),
        60_000,
      );
      assert.equal((await structured(where, 'git_status', {}))['exit_code'], 0);
    },
  );

  void test('"down" in the middle of a restart ends it all', real, async (t) => {
    const { where, dir, child } = await session(t, '', 'bubblewrap', slow);
    await callThatLasts(t, where);
    const asked = where.start(['restart', 'life', '--confirm', 'restart life', '--wait', '--json']);
    const ended = new Promise<number | null>((resolve) => asked.once('close', resolve));
    await until(
      'it has begun',
      async () => (await readFile(path.join(dir, 'session.json'), 'utf8')).includes('"quiescing": true'),
      60_000,
    );
    const down = await where.wraptool(['down', 'life']);
    assert.equal(down.code, 0, down.stderr);
    assert.notEqual(await ended, 0);
    await until(
      'its supervisor is gone',
      async () => child.exitCode !== null || child.signalCode !== null,
      60_000,
    );
    await until('no gateway is left', async () => (await withMarker(`${dir}/gateway-`)).length === 0, 60_000);
    await assert.rejects(access(dir), { code: 'ENOENT' });
  });

  void test(
    'a contamination outlives its session: the next one of that name runs what reads, until it is cleared',
    real,
    async (t) => {
      const first = await session(t);
      const { where } = first;
      process.kill(await gatewayOf(where), 'SIGKILL');
      await until(
        'it is on record',
        async () => (await records(where)).some(({ event }) => event === 'contamination'),
        30_000,
      );
      await where.wraptool(['down', 'life']);
      await first.end();
      const next = await live(t, 'bubblewrap', { where, up: ['--allow-restart'] });
      const push = () => structured(where, 'git_push', { args: ['origin', 'main'] });
      assert.equal((await push())['reason_code'], 'runtime_unproven');
      assert.equal((await structured(where, 'git_status', {}))['exit_code'], 0);
      assert.equal((await now(where)).json['reason_code'], 'contaminated_runtime');
      await where.wraptool(['restart', 'reconcile', 'life', '--note', 'the test']);
      assert.notEqual((await push())['reason_code'], 'runtime_unproven', 'its own first proof counts again');
      assert.match((await next.end()).stderr, /"life" is contaminated since/);
    },
  );
});

/** A control group of its own that counts memory, or why there can be none here. */
async function memoryGroup(): Promise<{ dir: string; limit: string; usage: string } | string> {
  const root = '/sys/fs/cgroup';
  const one = await access(path.join(root, 'memory'), constants.W_OK).then(
    () => true,
    () => false,
  );
  const dir = path.join(root, one ? 'memory' : '', `wraptool-test-${process.pid}`);
  try {
    await mkdir(dir);
    const [limit, usage] = one
      ? ['memory.limit_in_bytes', 'memory.usage_in_bytes']
      : ['memory.max', 'memory.current'];
    await access(path.join(dir, limit), constants.W_OK);
    return { dir, limit: path.join(dir, limit), usage: path.join(dir, usage) };
  } catch (error) {
    await rmdir(dir).catch(() => undefined);
    return `no control group can be made here: ${(error as Error).message}`;
  }
}

void test(
  'the kernel ends a gateway for want of memory: it is said as that, and is no contamination',
  real,
  async (t) => {
    const group = await memoryGroup();
    if (typeof group === 'string') return t.skip(group);
    const procs = path.join(group.dir, 'cgroup.procs');
    const where = await readyPlace(t, 'bubblewrap');
    await where.writeConfig(config);
    const within: Place = {
      ...where,
      start: (args, options = {}) =>
        spawn('sh', ['-c', 'echo $$ > "$0" && exec "$@"', procs, process.execPath, main, ...args], {
          cwd: options.cwd ?? where.workspace,
          env: { ...where.env, ...options.env },
          stdio: 'pipe',
        }),
    };
    t.after(async () => {
      await until('the group is empty', async () => (await readFile(procs, 'utf8')) === '', 60_000);
      await rmdir(group.dir);
    });
    const it = await live(t, 'bubblewrap', { where: within, up: ['--allow-restart'] });
    const pid = await gatewayOf(where);
    // First the gateway, then whoever eats, and not its supervisor, which is to tell of it.
    await writeFile(`/proc/${pid}/oom_score_adj`, '1000');
    const room = Number(await readFile(group.usage, 'utf8')) + 48 * 1024 * 1024;
    await writeFile(group.limit, String(room));
    const eater = `const eaten = []; const eat = () => {
    try { process.kill(${pid}, 0); } catch { process.exit(0); }
    eaten.push(Buffer.alloc(1e6, 1)); setTimeout(eat, 5); }; eat();`;
    const join = 'echo $$ > "$0" && echo 500 > /proc/$$/oom_score_adj && exec "$@"';
    const eating = spawn('sh', ['-c', join, procs, process.execPath, '-e', eater]);
    t.after(() => eating.kill('SIGKILL'));
    await until('it was ended', async () => !(await exists(pid)), 60_000);
    eating.kill('SIGKILL');
    const status = async () =>
      (JSON.parse((await where.wraptool(['ps', '--json'])).stdout) as { sessions: Json[] }).sessions[0];
    await until(
      'ps says how',
      async () => /out of memory/.test(String((await status())?.['status'])),
      30_000,
    );
    assert.doesNotMatch(String((await status())?.['status']), /contaminated/);
    assert.deepEqual(
      (await records(where)).filter(({ event }) => event === 'contamination'),
      [],
    );
    await writeFile(group.limit, String(8 * 1024 ** 3));
    const { code, json } = await restart(where, 'life', '--confirm', 'restart life', '--wait');
    assert.deepEqual([code, json['result']], [0, 'restarted'], JSON.stringify(json));
    assert.match((await it.end()).stderr, /out of memory/);
  },
);
