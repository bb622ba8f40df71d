/** The process that owns a session: its streams, its terminal, and what is left when it ends, in whatever way. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { inside, runtimeNames, type RuntimeName } from '../../../src/up/runtime/runtime.ts';
import { provideGuix } from '../../support/guix.ts';
import { ensureTestImage } from '../../support/image.ts';
import { needs, type Part } from '../../support/real.ts';
import { Terminal } from '../../support/tmux.ts';
import { until } from '../../support/until.ts';
import { collect, Rig, type RigOptions } from './rig.ts';

const part: Record<RuntimeName, Part> = {
  guix: 'guix',
  bubblewrap: 'bubblewrap',
  devcontainer: 'docker',
};
/** A container under load takes its time. */
const slow = 60_000;
const size = { columns: 100, rows: 30 };

/** Says its terminal's size, at the start and when that changes, and what it is sent. */
const watcher = [
  inside.node,
  '-e',
  `const say = () => console.log('size', process.stdout.columns + 'x' + process.stdout.rows, process.env.TERM);
   process.stdout.on('resize', say); say();
   process.on('SIGINT', () => { console.log('interrupted'); process.exit(9) });
   console.log('tty', process.stdin.isTTY, process.stdout.isTTY, process.stderr.isTTY);
   process.stdin.resume();`,
];

for (const runtime of runtimeNames) {
  describe(`${runtime}, the owner of a session`, { timeout: 600_000, ...needs(part[runtime]) }, () => {
    before(() => {
      if (runtime === 'devcontainer') ensureTestImage();
      if (runtime === 'guix') provideGuix();
    });

    const rigged = (t: test.TestContext, options: Partial<RigOptions> = {}): Rig => {
      const rig = new Rig({ runtime, ...options });
      t.after(() => rig.remove());
      return rig;
    };

    const nothingLeft = async (rig: Rig, ms: number): Promise<void> => {
      await until('nothing is left', () => rig.alive().length === 0 && rig.containers().length === 0, ms);
    };

    test('pipes pass whole, the harness’s code is the owner’s, and a command runs before it', async (t) => {
      const rig = rigged(t, { command: ['/bin/sh', '-c', 'cat; echo err >&2; exit 42'] });
      const child = rig.start({ exec: ['/bin/sh', '-c', 'echo before; exit 7'] });
      child.stdin!.end('words\n');
      const [out, err, [code]] = await Promise.all([
        collect(child.stdout!),
        collect(child.stderr!),
        once(child, 'exit'),
      ]);
      assert.deepEqual({ out, err, code }, { out: 'before\nexec 7\nwords\n', err: 'err\n', code: 42 });
      await nothingLeft(rig, 5000);
    });

    test('an interrupt of the owner alone is passed on', async (t) => {
      const rig = rigged(t, {
        command: ['/bin/sh', '-c', 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.1; done'],
      });
      const child = rig.start();
      await once(child.stdout!, 'data');
      child.kill('SIGINT');
      const [out, [code]] = await Promise.all([collect(child.stdout!), once(child, 'exit')]);
      assert.deepEqual({ out, code }, { out: 'caught\n', code: 5 });
    });

    test('SIGKILL of the owner ends everything within 2 s, whatever the harness does', async (t) => {
      const script = `trap '' TERM HUP INT
        (setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.2; done; : ${'$'}{MARK}' &)
        for p in /proc/[0-9]*; do n=${'$'}{p#/proc/}; [ "$n" = $$ ] || [ "$n" = 1 ] || kill -STOP "$n" 2>/dev/null; done
        : >stopped; while :; do sleep 0.2; done`;
      const rig = rigged(t);
      const command = ['/bin/sh', '-c', script.replace('${MARK}', rig.mark)];
      const [file, ...args] = rig.driver({ spec: { ...rig.spec, command } });
      const { spawn } = await import('node:child_process');
      const child = spawn(file!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      // By a file: what would pass the harness's words on is stopped too.
      const stopped = `${rig.spec.workspace.path}/stopped`;
      await until('the harness has stopped all that it can', () => existsSync(stopped), slow);
      assert.notDeepEqual(rig.alive(), []);
      child.kill('SIGKILL');
      await nothingLeft(rig, 2000);
    });

    test('SIGTERM to the owner reaches the harness, and the session is removed', async (t) => {
      const rig = rigged(t, {
        command: ['/bin/sh', '-c', 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep 0.1; done'],
      });
      const child = rig.start();
      await once(child.stdout!, 'data');
      child.kill('SIGTERM');
      const [out, [code]] = await Promise.all([collect(child.stdout!), once(child, 'exit')]);
      assert.deepEqual({ out, code }, { out: 'bye\n', code: 0 });
      await nothingLeft(rig, 5000);
    });

    test('SIGKILL while the session is being made leaves nothing that cannot be reclaimed', async (t) => {
      const rig = rigged(t);
      const child = rig.start();
      await until(
        'it has begun',
        () => existsSync(`${rig.dir}/session/devcontainer`) || rig.alive().length > 0,
      );
      child.kill('SIGKILL');
      await once(child, 'exit');
      const { createRuntime } = await import('../../../src/up/runtime/create.ts');
      await until('it can be reclaimed', async () => {
        await createRuntime(runtime).reclaim({ name: rig.mark, id: rig.spec.session.id, facts: {} });
        return rig.alive().length === 0 && rig.containers().length === 0;
      });
    });

    describe('in a terminal', needs('tmux'), () => {
      const opened = (t: test.TestContext, rig: Rig): Terminal => {
        const words = rig
          .driver()
          .map((word) => `'${word}'`)
          .join(' ');
        const terminal = new Terminal(size, [
          '/bin/sh',
          '-c',
          `trap : INT; ${words}; echo "code $?"; stty -a | grep -o -e '-*icanon' -e '-*echo '; exec cat`,
        ]);
        t.after(() => terminal.close());
        return terminal;
      };

      test('size, resize and Ctrl-C pass, and the terminal is given back', async (t) => {
        const rig = rigged(t, { command: watcher, env: { TERM: 'xterm-256color' } });
        const terminal = opened(t, rig);
        await terminal.shows(/size 100x30 xterm-256color\ntty true true true/, slow);
        terminal.resize({ columns: 120, rows: 40 });
        await terminal.shows(/size 120x40/, slow);
        terminal.keys('C-c');
        await terminal.shows(/interrupted\ncode 9\nicanon\necho /, slow);
        await nothingLeft(rig, 5000);
      });

      test('a harness that leaves the terminal raw gives it back all the same', async (t) => {
        const rig = rigged(t, { command: ['/bin/sh', '-c', 'stty raw -echo; echo wild; kill -KILL $$'] });
        const terminal = opened(t, rig);
        await terminal.shows(/wild[^]*code 137\s+icanon\s+echo /, slow);
      });

      test('keys pass one by one', async (t) => {
        const program = `process.stdin.setRawMode(true); console.log('ready'); process.stdin.on('data', (d) => { console.log('key ' + d.toString('hex')); if (d[0] === 0x71) process.exit(0) })`;
        const rig = rigged(t, { command: [inside.node, '-e', program] });
        const terminal = opened(t, rig);
        await terminal.shows(/ready/, slow);
        for (const key of ['C-c', 'C-z', 'C-d', 'Up', 'ü']) terminal.keys(key);
        await terminal.shows(/key 03[^]*1a[^]*04[^]*1b5b41[^]*c3bc/, slow);
        terminal.keys('q');
        await terminal.shows(/code 0/, slow);
      });

      test('the harness cannot type into the operator’s shell', needs('python3'), async (t) => {
        // Two spellings of each request: the kernel looks at the low 32 bits only.
        const program = `import fcntl, os
for request in (0x5412, 0x541c, 0x15412):
    try:
        fcntl.ioctl(0, request, b'x')
        print('injected', hex(request))
    except Exception as e:
        print('refused', hex(request), type(e).__name__)`;
        const rig = rigged(t, {
          command: [
            '/bin/sh',
            '-c',
            `if command -v /usr/bin/python3 >/dev/null; then /usr/bin/python3 -c "$1"; else echo no python; fi; echo end`,
            'sh',
            program,
          ],
        });
        const terminal = opened(t, rig);
        const text = await terminal.shows(/end[^]*code 0/, slow);
        if (runtime !== 'devcontainer') assert.doesNotMatch(text, /injected/);
      });

      test('closing the terminal ends the session', async (t) => {
        const rig = rigged(t, {
          command: ['/bin/sh', '-c', 'trap "" HUP TERM; echo ready; while :; do sleep 0.2; done'],
        });
        const terminal = opened(t, rig);
        await terminal.shows(/ready/, slow);
        terminal.close();
        await nothingLeft(rig, 5000);
      });
    });
  });
}
