/** The engine goes away in the middle of a session. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { finish, gitConfig, place, seen, until } from './place.ts';

/** The real engine behind a socket that can be taken away. */
async function proxy(t: test.TestContext, at: string): Promise<() => Promise<void>> {
  const open = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    const far = net.connect({ path: '/var/run/docker.sock', allowHalfOpen: true });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => socket.destroy());
    }
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(at, resolve));
  const vanish = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  };
  t.after(() => (server.listening ? vanish() : undefined));
  return vanish;
}

void test(
  'the session ends with an error that says so, and what is left is reclaimed when the engine is back',
  needs('docker'),
  async (t) => {
    const where = await place(t);
    await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
    const socket = path.join(where.dir, 'engine.sock');
    const vanish = await proxy(t, socket);
    const env = { DOCKER_HOST: `unix://${socket}` };
    const run = path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool');
    const script = 'echo harness-is-ready; exec sleep 600';
    const child = where.start(
      ['up', 'shell', '--name', 'lost', '--runtime', 'devcontainer', '--', '-c', script],
      { env },
    );
    await seen(child.stdout, /harness-is-ready/);
    const done = finish(child, '');
    await vanish();
    const { code, stderr } = await done;
    assert.equal(code, 125);
    assert.match(stderr, /^error: the Docker engine went away/m);
    assert.match(stderr, /^hint: .*wraptool ps/m);
    assert.doesNotMatch(stderr, /\bat .*:\d+/, 'no stack trace');
    assert.deepEqual(await readdir(run), ['lost']);
    const away = await where.wraptool(['ps'], { env });
    assert.equal(away.code, 1);
    assert.match(away.stderr, /warning: the container of "lost" cannot be looked for/);
    await until('ps finds it', async () => (await where.wraptool(['ps'])).code === 0);
    assert.deepEqual(await readdir(run), []);
  },
);
