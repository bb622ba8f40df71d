import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { confinementAvailable } from '../../src/confine/available.ts';
import { spawnConfined } from '../../src/confine/spawn.ts';
import { needs } from '../support/real.ts';
import { base, confined, sh } from './support.ts';

const real = needs('bubblewrap');
const asRoot = needs('bubblewrap', 'root', 'setpriv');

async function folder(): Promise<string> {
  return await realpath(await mkdtemp(path.join(tmpdir(), 'wraptool-test-')));
}

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ESRCH') throw error;
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('confinement is available where bubblewrap runs', real, async () => {
  const found = await confinementAvailable();
  assert.equal(found.ok, true);
  assert.match(found.ok ? found.version : '', /^\d+\.\d+/);
});

test('the command gets its own exit code through', real, async () => {
  assert.equal((await sh({}, 'exit 7')).code, 7);
  assert.equal((await sh({ terminal: true }, 'exit 125')).code, 125);
  assert.equal((await sh({}, 'kill -9 $$')).code, 137);
  assert.equal((await sh({}, 'exit 1')).code, 1);
});

test('what bubblewrap itself could not do is not the command’s exit code', real, async () => {
  await assert.rejects(confined({}, '/no/such/program'), { code: 'runtime_failed' });
  const readOnly = [{ source: '/no/such/folder', target: '/x' }];
  await assert.rejects(confined({ readOnly }, '/bin/true'), { code: 'runtime_failed' });
});

test('the environment is what was given and nothing else', real, async () => {
  const { stdout } = await confined({ env: { A: 'one two', PATH: '/usr/bin', E: '' } }, '/usr/bin/env');
  assert.deepEqual(stdout.trim().split('\n').toSorted(), ['A=one two', 'E=', 'PATH=/usr/bin', 'PWD=/tmp']);
});

test('no descriptor of ours is open inside', real, async () => {
  const { stdout } = await sh({}, 'for f in /proc/self/fd/*; do readlink $f; done');
  const strange = stdout
    .split('\n')
    .filter((to) => !/^(|\/dev\/null|socket:.*|pipe:.*|\/proc\/\d+\/fd.*)$/.test(to));
  assert.deepEqual(strange, []);
});

const inside: [string, string][] = [
  ['make the root writable again', 'mount -o remount,rw,bind / && touch /x'],
  ['mount anything', 'mount -t tmpfs none /tmp'],
  ['unmount a mask', 'umount /proc/sys || umount /etc/passwd'],
  ['write to the root', 'echo x > /x'],
  ['write to /etc', 'echo x > /etc/x'],
  ['write to /usr', 'echo x > /usr/x'],
  ['write to /dev', 'echo x > /dev/x'],
  ['change a file of /etc', 'echo x >> /etc/passwd'],
  ['set a kernel setting', 'exec 3>>/proc/sys/kernel/core_pattern'],
  ['use sysrq', 'exec 3>>/proc/sysrq-trigger'],
  ['make a device', 'mknod /tmp/d b 8 0'],
  ['change the owner of a file', 'touch /tmp/f && chown 1:1 /tmp/f'],
  ['become another user', 'setpriv --reuid=1 --clear-groups true'],
  ['have a user namespace', 'unshare --user true'],
  ['have a network device', 'ip link add dummy0 type dummy 2>/dev/null || unshare --net true'],
  ['see a process of the host', `test -d /proc/${process.pid} && kill -0 ${process.pid}`],
  ['read the memory of another process of its uid', `cat /proc/${process.pid}/environ`],
  ['read the kernel log', 'dmesg'],
  ['read the passwords', 'cat /etc/shadow'],
  ['read private keys', 'ls /etc/ssl/private'],
  ['see the host’s home folders', 'ls /root /home'],
  ['see docker’s socket', 'ls /run/docker.sock /var/run/docker.sock'],
];

for (const [what, script] of inside) {
  test(`uid ${process.getuid?.()} inside can't ${what}`, real, async () => {
    assert.notEqual((await sh({}, script)).code, 0);
  });
  test(`an ordinary user inside can't ${what}`, asRoot, async () => {
    assert.notEqual((await sh({ user: { uid: 65534, gid: 65534 } }, script)).code, 0);
  });
}

test(
  'uid 0 inside can open nothing of /proc for writing but what is its own',
  needs('bubblewrap', 'root'),
  async () => {
    const own = '-path "/proc/[0-9]*" -o -path "/proc/*self/*" -o -path "/proc/pressure/*"';
    const open = 'while read f; do (exec 3>>"$f") 2>/dev/null && echo "$f"; done';
    const { stdout } = await sh({}, `find /proc -not '(' ${own} ')' -type f -perm /222 | ${open}`);
    assert.equal(stdout, '');
  },
);

test('ptrace reaches no process of the host', needs('bubblewrap', 'python3'), async () => {
  const script = `import ctypes,os;l=ctypes.CDLL(None,use_errno=True);print(l.ptrace(16,${process.pid},0,0),ctypes.get_errno())`;
  const python = await sh(
    {},
    `command -v /usr/bin/python3 >/dev/null || exit 99; /usr/bin/python3 -c '${script}'`,
  );
  if (python.code === 99) return;
  assert.match(python.stdout, /^-1 /);
});

test('a workspace is writable, and what lies over it is not', real, async () => {
  const ws = await folder();
  await mkdir(`${ws}/.git/hooks`, { recursive: true });
  const spec = {
    writable: [{ source: ws, target: ws }],
    readOnlyOver: [{ source: `${ws}/.git/hooks`, target: `${ws}/.git/hooks` }],
    cwd: ws,
  };
  const ran = await sh(
    spec,
    'echo a > file && mv .git/hooks .git/other; echo evil > .git/hooks/post-commit; rm -r .git',
  );
  assert.notEqual(ran.code, 0);
  assert.equal(await readFile(`${ws}/file`, 'utf8'), 'a\n');
  assert.equal((await sh(spec, 'test -d .git/hooks && test ! -e .git/hooks/post-commit')).code, 0);
});

test(
  'no set-user-id file can be left in a folder of the host, a group’s folder keeps its own bit',
  real,
  async (t) => {
    const [own, shared] = [await folder(), await folder()];
    t.after(() => Promise.all([own, shared].map((dir) => rm(dir, { recursive: true, force: true }))));
    await chmod(shared, 0o2770);
    const script =
      'cp /bin/true u; chmod 755 u; chmod u+s u; chmod g+s u; install -m 4755 /bin/true v; stat -c %a u; mkdir d; chmod 2770 d; stat -c %a d';
    const seen = await Promise.all(
      [own, shared].map((dir) =>
        sh({ writable: [{ source: dir, target: dir }], cwd: dir }, `umask 077; (${script}) 2> /dev/null`),
      ),
    );
    assert.deepEqual(
      seen.map(({ stdout }) => stdout),
      ['755\n700\n', '2755\n2770\n'],
    );
  },
);

test('started by root, files belong to the owner that was asked for', asRoot, async () => {
  const { code, stdout } = await sh(
    { user: { uid: 65534, gid: 65534 } },
    'id -u; id -G; touch /tmp/f && stat -c %u:%g /tmp/f',
  );
  assert.deepEqual({ code, stdout }, { code: 0, stdout: '65534\n65534\n65534:65534\n' });
});

test('limits hold', real, async () => {
  assert.notEqual(
    (await sh({ limits: { fileSizeBytes: 4096 } }, 'head -c 100000 /dev/zero > /tmp/f')).code,
    0,
  );
  assert.notEqual(
    (await sh({ limits: { tmpBytes: 1024 * 1024 } }, 'head -c 9000000 /dev/zero > /tmp/f')).code,
    0,
  );
  assert.notEqual(
    (await sh({ limits: { addressSpaceBytes: 64 << 20 } }, 'dd if=/dev/zero of=/dev/null bs=300M count=1'))
      .code,
    0,
  );
  assert.notEqual((await sh({ limits: { cpuSeconds: 1 } }, 'while :; do :; done')).code, 0);
});

test('the limit of processes counts those of the sandbox', asRoot, async () => {
  const user = { uid: 65534, gid: 65534 };
  const script = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; wait';
  assert.notEqual((await sh({ user, limits: { processes: 8 } }, script)).code, 0);
  assert.equal((await sh({ user, limits: { processes: 50 } }, 'sleep 0 & wait')).code, 0);
});

for (const network of ['none', 'private'] as const) {
  const parts = network === 'none' ? real : needs('bubblewrap', 'root', 'network-private');

  test(
    `with network ${network} the host's loopback and its abstract sockets are out of reach`,
    parts,
    async (t) => {
      const tcp = createServer((socket) => socket.end('reached')).listen(0, '0.0.0.0');
      const abstract = createServer((socket) => socket.end('reached')).listen(
        `\0wraptool-test-${process.pid}`,
      );
      await Promise.all([once(tcp, 'listening'), once(abstract, 'listening')]);
      t.after(() => {
        tcp.close();
        abstract.close();
      });
      const { port } = tcp.address() as { port: number };
      const connect = (options: string) =>
        `require('net').connect(${options}).setTimeout(2000,()=>process.exit(3)).on('data',()=>process.exit(0)).on('error',()=>process.exit(4))`;
      for (const options of [
        `${port},'127.0.0.1'`,
        `${port},'10.0.2.2'`,
        `${port},'localhost'`,
        `{path:'\\0wraptool-test-${process.pid}'}`,
      ]) {
        const node = { source: process.execPath, target: '/tmp/node' };
        const ran = await confined({ network, readOnly: [node] }, '/tmp/node', '-e', connect(options));
        assert.ok([3, 4].includes(ran.code), `${options}: ${ran.code} ${ran.stderr}`);
      }
    },
  );
}

test(
  'a private network has a route, a resolver and nothing of the host’s',
  needs('bubblewrap', 'root', 'network-private'),
  async () => {
    const { code, stdout } = await sh(
      { network: 'private' },
      'cat /etc/resolv.conf; cut -f1,2 /proc/net/route | sed 1d',
    );
    assert.deepEqual(
      { code, stdout },
      { code: 0, stdout: 'nameserver 10.0.2.3\ntap0\t00000000\ntap0\t0002000A\n' },
    );
  },
);

const parent = fileURLToPath(new URL('./parent.ts', import.meta.url));

/** A process that starts a sandbox and says the pids of what is in and around it. */
async function startParent(t: TestContext, network: string): Promise<{ kill: () => void; pids: number[] }> {
  const child = spawn(process.execPath, [parent, network], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { kill: () => void child.kill('SIGKILL'), pids: line.toString().trim().split(' ').map(Number) };
}

test('nothing outlives the parent, killed by SIGKILL', real, async (t) => {
  const { kill, pids } = await startParent(t, 'none');
  assert.ok(pids.length >= 3);
  kill();
  await Promise.all(pids.map(gone));
});

test('nor does the private network', needs('bubblewrap', 'root', 'network-private'), async (t) => {
  const { kill, pids } = await startParent(t, 'private');
  assert.ok(pids.length >= 4);
  kill();
  await Promise.all(pids.map(gone));
});

test('stop ends everything inside, background processes in sessions of their own too', real, async () => {
  const { child, stop } = await spawnConfined(
    base,
    ['/bin/sh', '-c', 'setsid sh -c "trap : TERM; sleep 1000" & echo up; wait'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout!, 'data');
  const ended = once(child.stdout!, 'close');
  await stop();
  await ended;
  await stop();
});

test('a signal is delivered to the command, which may tidy up', real, async () => {
  const { child, exit, signal } = await spawnConfined(
    base,
    ['/bin/sh', '-c', 'trap "echo tidy; exit 9" TERM; echo up; while :; do sleep 0.1; done'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout!, 'data');
  const said = once(child.stdout!, 'data');
  await signal('SIGTERM');
  assert.equal(String(await said), 'tidy\n');
  assert.equal(await exit, 9);
});

test('only the main thread may start a sandbox', real, async () => {
  const module = JSON.stringify(new URL('../../src/confine/spawn.ts', import.meta.url).href);
  const code = `import(${module}).then((m) => m.spawnConfined(${JSON.stringify(base)}, ['/bin/true'], { stdio: 'inherit' }))
    .catch((error) => require('node:worker_threads').parentPort.postMessage(error.code))`;
  const worker = new Worker(code, { eval: true });
  assert.deepEqual(await once(worker, 'message'), ['internal']);
});

test('a secret in the environment shows in no command line while it runs', real, async (t) => {
  const { child, stop } = await spawnConfined(
    { ...base, env: { T: 'zebra-crossing-77' } },
    ['/bin/sh', '-c', 'echo up; sleep 100'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  t.after(stop);
  await once(child.stdout!, 'data');
  const line = await readFile(`/proc/${child.pid}/cmdline`, 'utf8');
  assert.ok(line.includes('--clearenv'));
  assert.equal(line.includes('zebra'), false);
});

test(
  'in a terminal Ctrl-C reaches the command and leaves bubblewrap alone',
  needs('bubblewrap', 'python3'),
  async () => {
    const dir = await folder();
    const script = path.join(dir, 'terminal.py');
    await writeFile(
      script,
      `import pty, os, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
out = b''
while b'up' not in out: out += os.read(fd, 999)
os.write(fd, b'\\x03')
try:
    while True:
        more = os.read(fd, 999)
        if not more: break
        out += more
except OSError: pass
print(out.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`,
    );
    const shell = 'trap "echo tidied; exit 42" INT; echo up; while :; do sleep 0.1; done';
    const runner = fileURLToPath(new URL('./in-terminal.ts', import.meta.url));
    const child = spawn('python3', [script, process.execPath, runner, shell], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await once(child, 'close');
    assert.match(said, /tidied[\s\S]*exit 42/);
  },
);
