/** The Docker daemon is ended and started again under a running session: a private one, never the machine's. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { finish, gitConfig, place, seen, until } from './place.ts';
import { dirOf, oddSeconds, withMarker } from './session.ts';

type Daemon = { readonly host: string; start(): Promise<void>; stop(signal: NodeJS.Signals): Promise<void> };

/** A daemon of its own, with a containerd of its own, that touches no network of the host. `unshare` becomes it. */
function privateDaemon(t: TestContext): Daemon {
  // Short: sockets lie in it.
  const dir = mkdtempSync('/tmp/wd-');
  const host = `unix://${dir}/d.sock`;
  let child: ChildProcess | null = null;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  t.after(async () => {
    await stop('SIGTERM');
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    host,
    stop,
    start: async () => {
      const places = ['--data-root', `${dir}/data`, '--exec-root', `${dir}/run`, '--pidfile', `${dir}/pid`];
      // A network of its own: a second daemon would take away the first one's bridge.
      const args = [
        '--net',
        '--',
        'dockerd',
        '--host',
        host,
        ...places,
        '--iptables=false',
        '--ip6tables=false',
      ];
      child = spawn('unshare', args, {
        stdio: 'ignore',
        env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
      });
      const answers = async () => spawnSync('docker', ['--host', host, 'info']).status === 0;
      await until('the private daemon answers', answers, 60_000);
    },
  };
}

void test(
  'the session ends with an error that says so; with the daemon back, ps leaves nothing, and up works again',
  { timeout: 240_000, ...needs('docker', 'root', 'netns') },
  async (t) => {
    ensureTestImage();
    const daemon = privateDaemon(t);
    await daemon.start();
    const saved = spawnSync('sh', ['-c', `docker save ${testImage} | docker --host ${daemon.host} load`]);
    assert.equal(saved.status, 0, String(saved.stderr));
    const where = await place(t);
    await where.writeConfig(`${gitConfig}up: { base_image: ${testImage}, network: none }\n`);
    const env = { DOCKER_HOST: daemon.host };
    const marker = oddSeconds();
    const script = `echo harness-is-ready; sleep ${marker}`;
    const words = ['up', 'shell', '--name', 'restarted', '--runtime', 'devcontainer', '--', '-c'];
    const child = where.start([...words, script], { env });
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
    await seen(child.stdout, /harness-is-ready/).catch((error: Error) => {
      throw new Error(`${error.message}\n${errors}`);
    });
    const done = finish(child, '');
    await daemon.stop('SIGTERM');
    const { code } = await done;
    assert.ok(code === 125 || code === 137 || code === 143, `exit code ${code}\n${errors}`);
    await daemon.start();
    await until('ps has nothing to do', async () => (await where.wraptool(['ps'], { env })).code === 0);
    await until('the harness is gone', async () => (await withMarker(marker)).length === 0);
    assert.equal(existsSync(dirOf(where, 'restarted')), false);
    assert.deepEqual(await readdir(path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool')), []);
    const left = spawnSync('docker', ['--host', daemon.host, 'ps', '-aq'], { encoding: 'utf8' });
    assert.equal(left.stdout, '');
    const again = await where.wraptool([...words, 'echo works; exit 4'], { env });
    assert.deepEqual(
      { code: again.code, stdout: again.stdout },
      { code: 4, stdout: 'works\n' },
      again.stderr,
    );
  },
);
