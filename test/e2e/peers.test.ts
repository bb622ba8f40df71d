/** The sockets of a live session and of what serves it: another user of the machine reaches none, the token beside the point. */
import assert from 'node:assert/strict';
import { lstatSync, readdirSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { askAs, stranger } from '../support/socket-peer.ts';
import { gitConfig } from './place.ts';
import { allRuntimes, live, readyPlace } from './session.ts';

const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

function socketsBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(dir, name))
    .filter((file) => lstatSync(file).isSocket());
}

for (const { name: runtime, part } of allRuntimes)
  void test(`${runtime}: no socket is another user's to connect to`, needs('other-user', part), async (t) => {
    const where = await readyPlace(t, runtime);
    await where.writeConfig(
      `${gitConfig}up: { base_image: wraptool-test-base, network: none }\nadmin: { listen: '127.0.0.1:0' }\n`,
    );
    await live(t, runtime, { where });
    const run = where.env['XDG_RUNTIME_DIR'] ?? '';
    const sockets = socketsBelow(run);
    const kinds = sockets.map((file) => path.relative(run, file).replace(/\d+-\d+/, 'PID'));
    for (const kind of ['life/control.sock', 'life/socket/gateway.sock', '.admin/PID/control.sock'])
      assert.ok(kinds.includes(`wraptool/${kind}`), kinds.join(' '));
    // Root's own answers are the proof that all of them are listened at.
    for (const file of sockets) assert.notEqual(await askAs(0, file, get), '', file);
    for (const file of sockets) assert.equal(await askAs(stranger, file, get), 'error EACCES', file);
    // The folders above opened by a careless hand: the session's own still are closed.
    for (const dir of [where.dir, run, path.join(run, 'wraptool')]) await chmod(dir, 0o755);
    for (const file of sockets) assert.equal(await askAs(stranger, file, get), 'error EACCES', file);
  });
