/** What is guix's own of the guix runtime: its command line, what it shares, and what its processes leave when one dies. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { createRuntime } from '../../../src/up/runtime/create.ts';
import { inside, type LaunchSpec, type Started } from '../../../src/up/runtime/runtime.ts';
import { hasRealGuix, provideGuix } from '../../support/guix.ts';
import { needs } from '../../support/real.ts';
import { until } from '../../support/until.ts';
import { exec, ready, Rig, sh, type RigOptions } from './rig.ts';

const root = process.getuid?.() === 0;
const reachable = `const [path] = process.argv.slice(1); require('net').connect(/^\\d+$/.test(path) ? +path : path).on('data', (d) => { console.log('reached ' + d); process.exit(0) }).on('error', (e) => console.log(e.code))`;

async function session(
  t: TestContext,
  options: Partial<RigOptions> = {},
  change: (spec: LaunchSpec, rig: Rig) => LaunchSpec = (spec) => spec,
): Promise<{ rig: Rig; started: Started }> {
  const rig = new Rig({ runtime: 'guix', ...options });
  const started = await rig.prepare(change(rig.spec, rig));
  t.after(async () => {
    await started.stop();
    rig.remove();
  });
  return { rig, started };
}

describe('guix', { timeout: 300_000, ...needs('guix') }, () => {
  before(() => provideGuix());

  test('--dry-run names the whole command line in the order of the mounts, without a secret', async (t) => {
    const rig = new Rig({
      runtime: 'guix',
      env: { TERM: 'xterm', API_KEY: 's3cret', WRAPTOOL_TOKEN: 't0ken' },
    });
    t.after(() => rig.remove());
    const spec = { ...rig.spec, secretEnv: new Set(['API_KEY', 'WRAPTOOL_TOKEN']) };
    const described = await createRuntime('guix').describe({ ...spec, network: 'private' });
    const argv = described[0]!.argv!;
    const from = argv.findIndex((word) => word.endsWith('/guix'));
    const workspace = spec.workspace.path;
    const own = argv
      .slice(from + 1)
      .filter((word) => !word.includes('/proc/') && !word.includes('wraptool/holder'));
    assert.deepEqual(
      own.slice(0, 6).map((word) => word.replace(/=.*\/templates/, '=templates')),
      ['shell', '--container', '--no-cwd', '--emulate-fhs', '--manifest=templates/manifest.scm', '--network'],
    );
    assert.deepEqual(own.slice(6, own.indexOf('--')), [
      '--preserve=^TERM$',
      `--expose=${spec.readOnly[0]!.source}=${inside.node}`,
      `--expose=${spec.socketDir}=${inside.socketDir}`,
      `--share=${spec.home}=${inside.home}`,
      `--share=${workspace}`,
      `--share=${workspace}/.git`,
      `--expose=${workspace}/.git/hooks`,
    ]);
    assert.match(own[own.indexOf('--') + 3]!, /exec tini -p SIGKILL -- /);
    const text = JSON.stringify(described);
    assert.doesNotMatch(text, /s3cret|t0ken/);
    assert.equal(described[1]!.argv, spec.command);
    const shown = (described[1]!.detail as { env: Record<string, string> }).env;
    assert.deepEqual([shown['API_KEY'], shown['TERM']], ['***', 'xterm']);
    assert.doesNotMatch(JSON.stringify((await createRuntime('guix').describe(spec))[0]), /--network/);
  });

  test('the first process reaps, and no descriptor of wraptool’s is open in what the harness starts', async (t) => {
    const { started } = await session(t);
    const { out } = await sh(
      started,
      'cat /proc/1/comm; (sh -c "sleep 0.1 &" ); sleep 0.5; grep -l "^State:.Z" /proc/[0-9]*/status; ls /proc/self/fd | head -3; ls -l /proc/self/fd /proc/1/fd | grep -c -e wraptool-runtime',
    );
    assert.equal(out, 'tini\n0\n1\n2\n0\n');
  });

  test('programs inside are told where certificates are', async (t) => {
    const { started } = await session(t);
    const { out } = await sh(started, 'head -c 200 "$SSL_CERT_FILE" | wc -c; ls "$SSL_CERT_DIR" | wc -l');
    const [bytes, files] = out.split('\n').map(Number);
    assert.equal(bytes, 200);
    assert.ok(files! > 10);
  });

  test('without a network there is none; otherwise it is the host’s, its loopback and abstract sockets too', async (t) => {
    const abstract = `\0wraptool-test-${process.pid}`;
    const servers = [
      createServer((peer) => peer.end('tcp')).listen(0, '127.0.0.1'),
      createServer((peer) => peer.end('abstract')).listen(abstract),
    ];
    t.after(() => servers.forEach((server) => server.close()));
    await Promise.all(servers.map(listening));
    const port = String((servers[0]!.address() as AddressInfo).port);
    const ask = async (started: Started): Promise<string[]> => {
      const said = [];
      for (const path of [`"${port}"`, `"\\0${abstract.slice(1)}"`])
        said.push((await exec(started, [inside.node, '-e', `process.argv[1] = ${path}; ${reachable}`])).out);
      return said;
    };
    const closed = await session(t, { network: 'none' });
    assert.deepEqual(await ask(closed.started), ['ECONNREFUSED\n', 'ECONNREFUSED\n']);
    const open = await session(t, { network: 'private' });
    assert.deepEqual(await ask(open.started), ['reached tcp\n', 'reached abstract\n']);
  });

  test('the host’s HOME, agents, engine, other sessions and tokens are out of reach', async (t) => {
    const other = new Rig({ runtime: 'guix' });
    t.after(() => other.remove());
    const agent = join(other.dir, 'agent.sock');
    const gateway = join(other.spec.socketDir, 'gateway.sock');
    const servers = [agent, gateway].map((file) => createServer((peer) => peer.end('host')).listen(file));
    t.after(() => servers.forEach((server) => server.close()));
    await Promise.all(servers.map(listening));
    writeFileSync(join(other.spec.session.dir, 'token'), 'secret', { mode: 0o666 });
    const { started } = await session(t, { network: 'private', ...(root ? { owner: 1500 } : {}) });
    for (const path of [agent, gateway, '/var/run/docker.sock', '/run/docker.sock', '/run/user/0/bus'])
      assert.match(
        (await exec(started, [inside.node, '-e', reachable, path])).out,
        /^(ENOENT|EACCES)\n$/,
        path,
      );
    const script =
      'for p; do cat "$p" 2>/dev/null; ls -A "$p" 2>/dev/null; done; ls -d /proc/[0-9]* | wc -l; for p in /proc/[0-9]*; do ls $p/root/work $p/cwd/../../var 2>/dev/null; done; :';
    const { out } = await sh(
      started,
      script,
      join(other.spec.session.dir, 'token'),
      homedir(),
      '/root',
      other.dir,
      '/var',
      '/etc/shadow',
      process.cwd(),
    );
    const [processes, ...rest] = out.split('\n');
    assert.ok(Number(processes) < 10, out);
    assert.deepEqual(rest, ['']);
  });

  test('a workspace below the user’s HOME is there, and what lies beside it is not', async (t) => {
    const dir = mkdtempSync(join(homedir(), '.wraptool-test-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const [path, beside] = [join(dir, 'deep', 'a = ü'), join(dir, 'beside')];
    for (const folder of [path, beside]) mkdirSync(folder, { recursive: true });
    const { started, rig } = await session(t, {}, (spec) => ({
      ...spec,
      workspace: { ...spec.workspace, path, given: path },
    }));
    const { out } = await sh(started, 'pwd; ls -A "$1"; ls -A "$HOME"; echo x > made', dir);
    assert.equal(out, `${path}\ndeep\n`);
    assert.equal(readFileSync(join(path, 'made'), 'utf8'), 'x\n');
    assert.ok(!existsSync(join(rig.spec.home, 'deep')));
  });

  test('the name that the operator gave is there too where the container has no folder for it', async (t) => {
    const dir = mkdtempSync('/var/tmp/wraptool-test-');
    t.after(() => rmSync(dir, { recursive: true }));
    chmodSync(dir, 0o755);
    writeFileSync(join(dir, 'beside'), '');
    const path = join(dir, 'real', 'ws');
    mkdirSync(path, { recursive: true });
    const given = join(dir, 'link');
    symlinkSync(path, given);
    const { started } = await session(t, {}, (spec) => ({
      ...spec,
      workspace: { ...spec.workspace, path, given },
    }));
    const { out } = await sh(started, 'cd "$1" && pwd -P; ls "${1%/*}"; echo x > here', given);
    assert.equal(out, `${path}\nlink\nreal\n`);
    assert.ok(existsSync(join(path, 'here')));
  });

  test('for root’s own workspace, what the kernel obeys cannot be written', needs('root'), async (t) => {
    const { started } = await session(t, { network: 'private' });
    const script = `for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /etc/resolv.conf /etc/hosts; do [ -w "$f" ] && echo "$f"; done
      unshare -Urpf --mount-proc sh -c '[ -w /proc/sys/kernel/core_pattern ] && echo nested' 2>/dev/null; echo end`;
    assert.equal((await sh(started, script)).out, 'end\n');
  });

  test('a "guix" of the workspace is not taken for the operator’s', async (t) => {
    const rig = new Rig({ runtime: 'guix' });
    const before = process.env['PATH'];
    t.after(() => {
      process.env['PATH'] = before;
      rig.remove();
    });
    const bin = join(rig.spec.workspace.path, 'node_modules', '.bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'guix'), `#!/bin/sh\ntouch ${rig.dir}/ran\n`, { mode: 0o755 });
    process.env['PATH'] = `${bin}:/usr/bin:/bin`;
    const runtime = createRuntime('guix');
    const found = await runtime.available({ baseImage: '', workspace: rig.spec.workspace.path });
    if (!hasRealGuix) assert.deepEqual(found.ok || found.reason, 'there is no "guix" on PATH');
    await assert.rejects(
      runtime.prepare(rig.spec, () => undefined, new AbortController().signal),
      { code: 'runtime_unavailable' },
    );
    assert.ok(!existsSync(join(rig.dir, 'ran')));
  });

  describe('the death of one process', () => {
    const marked = (rig: Rig): Promise<unknown> =>
      until('nothing is left', () => rig.alive().length === 0, 5000);
    const start = async (t: TestContext): Promise<{ rig: Rig; started: Started; end: Promise<number> }> => {
      const made = await session(t);
      const script = `trap '' TERM INT HUP; (setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.2; done; : ${made.rig.mark}' &); echo ready; while :; do sleep 0.2; done`;
      const running = await ready(made.started, script);
      const end = running.exit.then(
        (code) => code,
        (error: { code?: string }) => assert.equal(error.code, 'runtime_failed') as never,
      );
      return { ...made, end };
    };
    for (const [what, target] of [
      ['of guix', (started: Started) => childOf(Number(started.facts['pid']))],
      ['of what ties guix to wraptool', (started: Started) => Number(started.facts['pid'])],
      ['of the container’s first one', (started: Started) => Number(started.facts['init'])],
    ] as const)
      test(`${what} leaves nothing, and the session knows`, async (t) => {
        const { rig, started, end } = await start(t);
        process.kill(target(started), 'SIGKILL');
        await Promise.all([marked(rig), end]);
      });

    test('of the holder, which the harness can kill, ends the session', async (t) => {
      const { rig, started, end } = await start(t);
      const killing = sh(started, 'kill -9 $PPID; sleep 5').catch(() => null);
      await Promise.all([marked(rig), end, killing]);
    });

    test('a terminal’s hang-up of guix leaves nothing', async (t) => {
      const { rig, started, end } = await start(t);
      process.kill(childOf(Number(started.facts['pid'])), 'SIGHUP');
      await Promise.all([marked(rig), end]);
    });
  });

  describe(
    'a guix that cannot',
    { ...(hasRealGuix ? { skip: 'the faults are the stand-in’s' } : {}) },
    () => {
      for (const [fault, reason, hint] of [
        ['clone', /^clone: \d+: No space left on device$/, /user\.max_user_namespaces/],
        ['apparmor', /mount "none" .*Permission denied$/, /AppArmor/],
        ['sysctl', /unprivileged user cannot create.*; please set/, /kernel\.unprivileged_userns_clone to 1/],
        ['old', /unrecognized option/, /guix pull/],
      ] as const)
        test(`is not available (${fault}), with guix’s reason and a way out; a session says the same`, async (t) => {
          process.env['GUIX_STANDIN_FAULT'] = fault;
          t.after(() => delete process.env['GUIX_STANDIN_FAULT']);
          const found = await createRuntime('guix').available({ baseImage: '' });
          assert.ok(!found.ok);
          assert.match(found.reason, reason);
          assert.match(found.hint, hint);
          const rig = new Rig({ runtime: 'guix' });
          t.after(() => rig.remove());
          await assert.rejects(rig.prepare(), (error: { code: string; hint: string }) => {
            assert.equal(error.code, 'runtime_failed');
            assert.match(error.hint, hint);
            return true;
          });
          assert.deepEqual(rig.alive(), []);
        });

      test('reach its daemon is not available', async (t) => {
        process.env['GUIX_DAEMON_SOCKET'] = '/nowhere/guix.sock';
        t.after(() => delete process.env['GUIX_DAEMON_SOCKET']);
        const found = await createRuntime('guix').available({ baseImage: '' });
        assert.deepEqual(found, {
          ok: false,
          reason: "failed to connect to `/nowhere/guix.sock': No such file or directory",
          hint: 'start the daemon: "systemctl start guix-daemon", or "herd start guix-daemon" on Guix System',
        });
      });
    },
  );
});

async function listening(server: Server): Promise<void> {
  if (!server.listening) await once(server, 'listening');
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
