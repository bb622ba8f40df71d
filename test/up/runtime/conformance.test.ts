/** What every runtime must do, one table for all of them, each in a session shared by its tests. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createServer as createTcp } from 'node:net';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { certificateEnv } from '../../../src/up/runtime/guix-command.ts';
import {
  inside,
  runtimeNames,
  type LaunchSpec,
  type RuntimeName,
  type Started,
} from '../../../src/up/runtime/runtime.ts';
import { provideGuix } from '../../support/guix.ts';
import { ensureTestImage } from '../../support/image.ts';
import { needs, type Part } from '../../support/real.ts';
import { until } from '../../support/until.ts';
import { collect, exec, git, ready, Rig, sh } from './rig.ts';

const part: Record<RuntimeName, Part> = {
  guix: 'guix',
  bubblewrap: 'bubblewrap',
  devcontainer: 'docker',
};
const root = process.getuid?.() === 0;
/** As root the workspace belongs to somebody else; the session must run as that user. */
const owner = root ? 1500 : process.getuid!();
const group = root ? 1500 : process.getgid!();

const signals = [
  ['SIGTERM', 143],
  ['SIGINT', 130],
  ['SIGHUP', 129],
  ['SIGQUIT', 131],
  ['SIGKILL', 137],
] as const;

/** Where programs of the runtime look for certificates. */
const ownEnv = (runtime: RuntimeName): object => (runtime === 'guix' ? certificateEnv : {});

/** A shell that waits for a child; each is past the moment in which a shell loses an interrupt. */
const waiting = `${inside.node} -e 'console.log("ready"); setInterval(() => {}, 1e6)'; sleep 1000`;

for (const runtime of runtimeNames) {
  describe(runtime, { timeout: 600_000, ...needs(part[runtime]) }, () => {
    let rig: Rig;
    let started: Started;
    let linked: string;
    const host = createTcp((socket) => socket.end('host'));

    before(async () => {
      if (runtime === 'devcontainer') ensureTestImage();
      if (runtime === 'guix') provideGuix();
      process.env['WRAPTOOL_TEST_CANARY'] = 'canary';
      rig = new Rig({
        runtime,
        ...(root ? { owner } : {}),
        folder: `my ü=:,'"$() ws`,
        env: { SECRET_TOKEN: 's3cret', WITH_NEWLINE: 'a\nb', EMPTY: '' },
      });
      linked = join(rig.dir, 'linked');
      symlinkSync(rig.spec.workspace.path, linked);
      writeFileSync(join(rig.dir, 'private', 'file'), 'read me');
      const spec: LaunchSpec = {
        ...rig.spec,
        workspace: { ...rig.spec.workspace, given: linked },
        readOnly: [...rig.spec.readOnly, { source: join(rig.dir, 'private'), target: '/opt/wraptool/files' }],
        secretEnv: new Set(['SECRET_TOKEN']),
      };
      chmodSync(join(rig.dir, 'private'), 0o755);
      started = await rig.prepare(spec);
    });

    after(async () => {
      await started?.stop();
      rig?.remove();
      host.close();
    });

    test('a command starts in the workspace, at the path that it has on the host', async () => {
      assert.deepEqual(await sh(started, 'pwd'), { code: 0, out: `${rig.spec.workspace.path}\n`, err: '' });
    });

    test('the workspace is there under the name that the operator gave', async () => {
      const { out } = await sh(started, 'cd "$1" && pwd -P', linked);
      assert.equal(out, `${rig.spec.workspace.path}\n`);
    });

    test('the environment is what was named and nothing of the operator’s', async () => {
      const { out } = await exec(started, ['/usr/bin/env', '-0']);
      const seen = new Map(
        out
          .split('\0')
          .filter(Boolean)
          .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
      );
      for (const own of ['PWD', 'HOSTNAME', 'SHLVL', '_', 'OLDPWD']) seen.delete(own);
      assert.deepEqual(Object.fromEntries(seen), { ...ownEnv(runtime), ...rig.spec.env });
    });

    test('exec takes an environment and a folder of its own', async () => {
      const said = await exec(started, ['/bin/sh', '-c', 'echo "$ONLY:$SECRET_TOKEN"; pwd'], {
        env: { PATH: '/usr/bin:/bin', ONLY: 'this' },
        cwd: inside.home,
      });
      assert.deepEqual(said, { code: 0, out: 'this:\n/home/agent\n', err: '' });
    });

    test('commands run as the owner of the workspace and their files are the owner’s', async () => {
      const { out } = await sh(
        started,
        'id -u; id -g; id -G; echo made > made; echo kept > ~/kept; mkdir -p sub/deep; cat made ~/kept',
      );
      assert.equal(out, `${owner}\n${group}\n${group}\nmade\nkept\n`);
      for (const file of [
        join(rig.spec.workspace.path, 'made'),
        join(rig.spec.workspace.path, 'sub/deep'),
        join(rig.spec.home, 'kept'),
      ]) {
        const { uid, gid } = statSync(file);
        assert.deepEqual({ file, uid, gid }, { file, uid: owner, gid: group });
      }
    });

    test('no process inside has a capability, and none can get one', async () => {
      // guix leaves the bounding set of its own user namespace; without new privileges it gives nothing.
      const bounding = runtime === 'guix' ? '' : '|CapBnd';
      const { out } = await sh(
        started,
        `grep -hE "^(CapEff|CapPrm|CapAmb|NoNewPrivs${bounding})" /proc/self/status`,
      );
      const none = '0000000000000000';
      assert.equal(
        out,
        `CapPrm:\t${none}\nCapEff:\t${none}\n${runtime === 'guix' ? '' : `CapBnd:\t${none}\n`}CapAmb:\t${none}\nNoNewPrivs:\t1\n`,
      );
    });

    for (const code of [0, 1, 42, 125, 130, 255]) {
      test(`exit code ${code} passes`, async () => {
        assert.equal((await sh(started, `exit ${code}`)).code, code);
      });
    }

    for (const [name, code] of signals) {
      test(`${name} ends a command and its children, exit code ${code}`, async () => {
        const running = await ready(started, waiting);
        await running.kill(name);
        assert.equal(await running.exit, code);
        const { out } = await sh(
          started,
          'for p in /proc/[0-9]*; do tr "\\0" " " < $p/cmdline; echo; done 2>/dev/null | grep -c "^/opt/wraptool/node/bin/node -e console" || :',
        );
        assert.equal(out, '0\n');
      });
    }

    test('a command that catches a signal decides itself', async () => {
      const running = await ready(started, 'trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done');
      await running.kill('SIGTERM');
      assert.equal(await running.exit, 7);
    });

    test('a signal to a command that has ended is nothing', async () => {
      const running = await ready(started, 'echo ready');
      assert.equal(await running.exit, 0);
      await running.kill('SIGTERM');
    });

    test('a command that does not exist ends with 127 and says so', async () => {
      const { code, out, err } = await exec(started, ['/no/such/program']);
      assert.equal(code, 127);
      assert.match(out + err, /\/no\/such\/program.*not found/);
    });

    test('standard input passes whole and ends; absent, it is empty', async () => {
      const bytes = randomBytes(3_000_000);
      const { out } = await exec(started, ['/usr/bin/sha256sum'], { stdin: bytes });
      assert.equal(out, `${createHash('sha256').update(bytes).digest('hex')}  -\n`);
      assert.deepEqual(await exec(started, ['/bin/cat']), { code: 0, out: '', err: '' });
    });

    test('a program that does not read its input is no failure', async () => {
      assert.equal(
        (await exec(started, ['/bin/sh', '-c', 'exit 3'], { stdin: randomBytes(2_000_000) })).code,
        3,
      );
    });

    test('standard output and standard error stay apart', async () => {
      assert.deepEqual(await sh(started, 'echo out; echo err >&2'), { code: 0, out: 'out\n', err: 'err\n' });
    });

    test('40 MB of output pass whole to a reader that takes its time', async () => {
      let bytes = 0;
      const stdout = new PassThrough({ highWaterMark: 1000 });
      const counted = (async () => {
        for await (const chunk of stdout) {
          bytes += (chunk as Buffer).length;
          await new Promise(setImmediate);
        }
      })();
      const command = ['/bin/sh', '-c', 'head -c 40000000 /dev/zero'];
      const running = await started.exec(command, {
        stdin: null,
        stdout,
        stderr: new PassThrough().resume(),
      });
      assert.equal(await running.exit, 0);
      stdout.end();
      await counted;
      assert.equal(bytes, 40_000_000);
    });

    test('a child left in the background does not hold the end', async () => {
      const before = Date.now();
      assert.equal((await sh(started, 'sleep 60 & echo x; exit 4')).code, 4);
      assert.ok(Date.now() - before < 10_000);
    });

    test('arguments pass as they are', async () => {
      const words = ['', ' ', 'a b', '"', "'", '$HOME', '`id`', '--', '-n', 'ü\u200b', 'a\nb', '*', '\\'];
      const { out } = await exec(started, ['/usr/bin/printf', '%s\\0', ...words]);
      assert.deepEqual(out.split('\0').slice(0, -1), words);
    });

    test('nothing of the operator’s is inside', async () => {
      const places = [
        homedir(),
        process.cwd(),
        '/var/run/docker.sock',
        '/run/docker.sock',
        '/run/dbus',
        '/tmp/.X11-unix',
        rig.spec.session.dir,
        join(rig.dir, 'private'),
      ];
      const asked = places.filter((place) => existsSync(place));
      const { out } = await sh(
        started,
        'for p; do [ -e "$p" ] && ls -A "$p" 2>/dev/null | head -3; done; :',
        ...asked,
      );
      assert.equal(out, '');
      const { out: variables } = await sh(started, 'tr "\\0" "\\n" < /proc/1/environ 2>/dev/null; env');
      assert.doesNotMatch(variables, /canary|SSH_AUTH_SOCK|DBUS_|DISPLAY|DOCKER_/);
    });

    test('what was given read-only cannot be written', async () => {
      const script =
        'for f; do (echo x >> "$f") 2>/dev/null && echo "wrote $f"; done; cat /opt/wraptool/files/file';
      const places = [
        '/opt/wraptool/files/file',
        '/opt/wraptool/files/new',
        '/run/wraptool/new',
        inside.node,
        '/usr/new',
        '/etc/new',
      ];
      assert.equal((await sh(started, script, ...places)).out, 'read me');
    });

    test('.git is a mount point of its own with read-only hooks', async () => {
      const script =
        'echo x > .git/hooks/pre-commit; mv .git .git2; rm -rf .git/hooks; ln -sfn /etc .git/hooks; mv .git/hooks .git/h2; ls -d .git .git/hooks; git init -q other && git -C other status -s';
      const { out } = await sh(started, `(${script}) 2>/dev/null`);
      assert.equal(out, '.git\n.git/hooks\n');
      assert.ok(!existsSync(join(rig.spec.workspace.path, '.git/hooks/pre-commit')));
    });

    test('git works in the workspace', async () => {
      const script =
        'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git log --format=%s && git status --short | head -1';
      assert.equal((await sh(started, script)).out.split('\n')[0], 'one');
    });

    test('a socket in the socket folder can be reached, also one that is made anew', async () => {
      const program = `require('net').connect('/run/wraptool/gateway.sock').on('data', (d) => process.stdout.write(d)).on('error', (e) => console.log(e.code))`;
      for (const word of ['first', 'second']) {
        const file = join(rig.spec.socketDir, 'gateway.sock');
        const server = createTcp((socket) => socket.end(word)).listen(file);
        await until('the server listens', () => server.listening);
        chmodSync(file, 0o666);
        assert.equal((await exec(started, [inside.node, '-e', program])).out, word);
        server.close();
        await until('the socket is gone', () => !existsSync(file));
      }
    });

    test('a command gets a terminal of its own: its size, a new size, Ctrl-C, and its exit code', async () => {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      let said = '';
      stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
      const says = (what: RegExp) => until(String(what), () => what.test(said));
      const script = `test -t 0 && test -t 1 && test -t 2 && echo terminal; stty size; trap 'stty size' WINCH; trap 'echo interrupted; exit 42' INT; echo ready; while :; do sleep 0.05; done`;
      const running = await started.exec(
        ['/bin/sh', '-c', script],
        { stdin, stdout, stderr: new PassThrough().resume() },
        { terminal: { rows: 33, columns: 101 } },
      );
      await says(/terminal\r\n33 101\r\nready\r\n/);
      assert.match(said, /^terminal/);
      await running.resize({ rows: 44, columns: 55 });
      await says(/44 55\r\n/);
      stdin.write('\x03');
      assert.equal(await running.exit, 42);
      assert.match(said, /interrupted/);
    });

    test('a terminal without an input shows what comes late', async () => {
      const stdout = new PassThrough();
      const said = collect(stdout);
      const running = await started.exec(
        ['/bin/sh', '-c', 'sleep 0.3; echo late; exit 5'],
        { stdin: null, stdout, stderr: new PassThrough().resume() },
        { terminal: { rows: 24, columns: 80 } },
      );
      assert.equal(await running.exit, 5);
      stdout.end();
      assert.equal(await said, 'late\r\n');
    });

    test('in a terminal too, what is typed early arrives, arguments pass as they are, and a signal ends it', async () => {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      let said = '';
      stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
      stdin.write('typed early\n');
      const running = await started.exec(
        [
          '/bin/sh',
          '-c',
          'read line; printf "%s|" "$line" "$@" "$SECRET_TOKEN"; exec sleep 1000',
          'sh',
          "a'b",
          '$x "y"',
          'ü\nz',
        ],
        { stdin, stdout, stderr: new PassThrough().resume() },
        { terminal: { rows: 24, columns: 80 } },
      );
      await until('it has read', () => said.includes('s3cret|'));
      assert.match(said, /typed early\|a'b\|\$x "y"\|ü\r?\nz\|s3cret\|/);
      await running.kill('SIGTERM');
      assert.equal(await running.exit, 143);
    });

    test('without a network there is none', async () => {
      assert.equal((await sh(started, 'grep -v -e Inter -e face -e " lo:" /proc/net/dev; :')).out, '');
    });

    test('no secret is on a command line or in the container’s configuration', async () => {
      const running = await ready(started, 'echo ready; sleep 100');
      const said = await sh(started, 'cat /proc/[0-9]*/cmdline | tr "\\0" " "');
      assert.doesNotMatch(said.out, /s3cret/);
      assert.ok(rig.alive().every((line) => !line.includes('s3cret')));
      await running.kill('SIGKILL');
      const definition = join(rig.spec.session.dir, 'devcontainer', 'devcontainer.json');
      if (existsSync(definition)) assert.doesNotMatch(readFileSync(definition, 'utf8'), /s3cret/);
    });

    test('the end of the session ends what runs in it, and leaves nothing', async () => {
      const running = await ready(
        started,
        `(setsid sh -c 'trap "" TERM HUP; exec -a ${rig.mark} sleep 1000' &) ; echo ready; sleep 1000`,
      );
      const ended = running.exit;
      await started.stop();
      await started.stop();
      assert.equal(await ended, 137);
      assert.deepEqual(
        { processes: rig.alive(), containers: rig.containers() },
        { processes: [], containers: [] },
      );
    });
  });

  describe(`${runtime}, sessions of their own`, { timeout: 600_000, ...needs(part[runtime]) }, () => {
    before(() => {
      if (runtime === 'devcontainer') ensureTestImage();
      if (runtime === 'guix') provideGuix();
    });

    // guix shares the host's network, see guix.test.ts.
    const privateNetwork =
      runtime === 'guix' ? { skip: 'guix has no private network' } : needs('network-private');
    test('a private network does not reach the host’s loopback', privateNetwork, async (t) => {
      const server = createTcp((socket) => socket.end('host'));
      server.listen(0, '127.0.0.1');
      await until('the server listens', () => server.listening);
      t.after(() => server.close());
      const { port } = server.address() as { port: number };
      const rig = new Rig({ runtime, network: 'private' });
      const started = await rig.prepare();
      t.after(async () => {
        await started.stop();
        rig.remove();
      });
      const program = `const [host, port] = process.argv.slice(1); require('net').connect(port, host).setTimeout(3000, function () { this.destroy(); console.log('no answer') }).on('data', (d) => console.log('reached ' + d)).on('error', (e) => console.log(e.code))`;
      for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '10.0.2.2', '172.17.0.1']) {
        const { out } = await exec(started, [inside.node, '-e', program, address, String(port)]);
        assert.match(out, /^(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|EACCES|no answer)\n$/, address);
      }
      const { out } = await sh(started, 'grep -vc -e Inter -e face -e " lo:" /proc/net/dev');
      assert.equal(out, '1\n');
    });

    test('for root’s own workspace too, the system cannot be written', needs('root'), async (t) => {
      const rig = new Rig({ runtime });
      const started = await rig.prepare();
      t.after(async () => {
        await started.stop();
        rig.remove();
      });
      const script = `id -u
        mount -o remount,rw,bind / ; mount -o remount,rw,bind /usr; mount -t tmpfs x .git/hooks; umount .git/hooks
        echo x > .git/hooks/pre-commit; echo x > /usr/bin/new; mknod /tmp/sda b 8 0
        chroot /; hostname changed; kill -9 1; unshare -m true && echo unshared; ls /proc/1/root/root
        find .git/hooks /usr/bin/new /tmp/sda 2>/dev/null`;
      const { out } = await sh(started, `(${script}) 2>/dev/null`);
      const kept = out.split('\n').filter((line) => line !== '' && line !== '/usr/bin/new');
      assert.deepEqual(kept.slice(0, 2), ['0', '.git/hooks']);
      assert.ok(!kept.includes('unshared') && !kept.includes('/tmp/sda'));
      assert.ok(!existsSync('/usr/bin/new'));
    });

    test('a linked worktree has what git needs and nothing that the operator’s git would run', async (t) => {
      const rig = new Rig({ runtime, ...(root ? { owner } : {}) });
      const main = rig.spec.workspace.path;
      const tree = join(rig.dir, 'tree');
      git(main, ['commit', '-q', '--allow-empty', '-m', 'zero']);
      git(main, ['worktree', 'add', '-q', tree, '-b', 'side']);
      if (root) own(main, tree);
      const started = await rig.prepare({
        ...rig.spec,
        workspace: { ...rig.spec.workspace, path: tree, given: tree },
      });
      t.after(async () => {
        await started.stop();
        rig.remove();
      });
      const script = `echo x > file && git add file && git -c user.name=a -c user.email=a@b commit -q -m one && git log --format=%s
        echo x >> "$1/.git/config"; echo x > "$1/.git/hooks/pre-commit"; echo x > "$1/.git/HEAD"; echo x > "$1/file"; git gc -q; git worktree prune`;
      const { out } = await sh(started, `(${script}) 2>/dev/null`, main);
      assert.equal(out, 'one\nzero\n');
      assert.deepEqual(
        ['hooks/pre-commit', '../file'].map((name) => existsSync(join(main, '.git', name))),
        [false, false],
      );
      assert.doesNotMatch(readFileSync(join(main, '.git/config'), 'utf8'), /^x/m);
      assert.equal(git(main, ['log', '--format=%s', 'side']), 'one\nzero\n');
    });

    test('a workspace without a repository is only a folder', async (t) => {
      const rig = new Rig({ runtime });
      const plain = join(rig.dir, 'plain');
      mkdirSync(plain);
      const started = await rig.prepare({
        ...rig.spec,
        workspace: { ...rig.spec.workspace, path: plain, given: plain },
      });
      t.after(async () => {
        await started.stop();
        rig.remove();
      });
      assert.equal((await sh(started, 'ls -A; touch x; ls')).out, 'x\n');
    });
  });
}

function own(...paths: readonly string[]): void {
  assert.equal(spawnSync('chown', ['-R', `${owner}:${group}`, ...paths]).status, 0);
}
