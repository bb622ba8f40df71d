/** The control socket: who may connect, by its modes and, should those be opened, by what the kernel says of the peer. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { openControl } from '../../src/up/control/server.ts';
import { writeLine } from '../../src/up/control/line.ts';
import type { Credentials } from '../../src/supervise/credentials.ts';
import { needs } from '../support/real.ts';
import { askAs, stranger } from '../support/socket-peer.ts';

const request = `${JSON.stringify({ do: 'greet' })}\n`;

type Opened = { readonly dir: string; readonly file: string; readonly asked: (Credentials | null)[] };

async function opened(t: TestContext): Promise<Opened> {
  const dir = mkdtempSync(path.join(tmpdir(), 'wraptool-control-'));
  const file = path.join(dir, 'control.sock');
  const asked: (Credentials | null)[] = [];
  const control = await openControl(
    file,
    {
      greet: async (_request, connection, peer) => {
        asked.push(peer);
        writeLine(connection, { hello: true });
      },
    },
    (error) => assert.fail(error as Error),
  );
  t.after(async () => {
    await control.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, file, asked };
}

describe('the control socket', needs('other-user'), () => {
  test('its owner is answered, and known by uid', async (t) => {
    const { file, asked } = await opened(t);
    assert.equal(await askAs(0, file, request), 'said {"hello":true}');
    assert.deepEqual(
      asked.map((peer) => peer?.uid),
      [0],
    );
  });

  test('its modes keep another user out', async (t) => {
    const { dir, file, asked } = await opened(t);
    assert.deepEqual([statSync(dir).mode & 0o777, statSync(file).mode & 0o777], [0o700, 0o600]);
    assert.equal(await askAs(stranger, file, request), 'error EACCES');
    chmodSync(dir, 0o711);
    assert.equal(await askAs(stranger, file, request), 'error EACCES', 'the socket’s own mode alone');
    assert.deepEqual(asked, []);
  });

  for (const how of ['waits', 'leaves'] as const)
    test(`with the modes opened another user is still turned away, unheard: one that ${how}`, async (t) => {
      const { dir, file, asked } = await opened(t);
      chmodSync(dir, 0o711);
      chmodSync(file, 0o666);
      assert.match(await askAs(stranger, file, request, how), /^(said|error (EPIPE|ECONNRESET))$/);
      // In order of their connections: what was taken of the stranger's would have been by now.
      assert.equal(await askAs(0, file, request), 'said {"hello":true}');
      assert.deepEqual(
        asked.map((peer) => peer?.uid),
        [0],
      );
    });

  test('a folder that others may enter is none for it', async (t) => {
    const dir = mkdtempSync(path.join(tmpdir(), 'wraptool-control-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    chmodSync(dir, 0o710);
    const open = () => openControl(path.join(dir, 'control.sock'), {}, (error) => assert.fail(String(error)));
    await assert.rejects(open, { code: 'unsafe_location' });
    chmodSync(dir, 0o700);
    chownSync(dir, stranger, stranger);
    await assert.rejects(open, { code: 'unsafe_location' });
  });
});
