/** Recorded namespaces and markers on a real disk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { WraptoolError } from '../../src/errors.ts';
import { assess } from '../../src/restart/gate.ts';
import {
  clearMarkers,
  findNamespaces,
  markersOf,
  recordNamespace,
  setMarker,
} from '../../src/restart/store.ts';
import { knownNamespaces } from '../../src/up/namespaces.ts';
import { recordsOf } from './records.ts';

const root = await mkdtemp(path.join(os.tmpdir(), 'wraptool-store-'));
after(() => rm(root, { recursive: true, force: true }));

let count = 0;
async function place() {
  const state = path.join(root, String((count += 1)));
  await mkdir(state, { mode: 0o700 });
  return { env: { XDG_STATE_HOME: state, HOME: state }, folder: path.join(state, 'wraptool', 'namespaces') };
}

const now = new Date('2026-01-02T03:04:05.678Z');
const session = { name: 'claude-app', kind: 'session' } as const;
const killed = { reason: 'killed_by_signal', detail: 'SIGKILL to pid 4242' };
const refusal = (code: string) => (error: unknown) => error instanceof WraptoolError && error.code === code;

async function countsAsContaminated(env: Parameters<typeof markersOf>[0], name: string): Promise<void> {
  for (const [marker] of [
    await markersOf(env, name),
    (await findNamespaces(env)).flatMap((one) => ('damaged' in one ? [one.damaged] : [])),
  ])
    assert.deepEqual([marker?.namespace, marker?.reason, marker?.cleared], [name, 'record_damaged', null]);
}

describe('a namespace', () => {
  test('that was never recorded is not there, and nothing is made by looking', async () => {
    const { env, folder } = await place();
    assert.deepEqual(await recordsOf(env), []);
    await assert.rejects(stat(folder), { code: 'ENOENT' });
  });
  test('is recorded once and stays as it was', async () => {
    const { env } = await place();
    await recordNamespace(env, session, now);
    await recordNamespace(env, session, new Date(now.getTime() + 1000));
    assert.deepEqual(await recordsOf(env), [
      { version: 1, ...session, since: now.toISOString(), markers: [] },
    ]);
  });
  test('has a file of mode 0600 in a folder of mode 0700', async () => {
    const { env, folder } = await place();
    await recordNamespace(env, { name: 'claude-app/Tracker_1', kind: 'server' }, now);
    assert.deepEqual(await readdir(folder), ['claude-app__Tracker_1.json']);
    assert.equal((await stat(path.join(folder, 'claude-app__Tracker_1.json'))).mode & 0o777, 0o600);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });
  for (const name of ['', '..', '../x', 'a/b/c', 'A', 'a__b', 'a/b__c', '-a', 'a/../b', 'a\n'])
    test(`can't be called ${JSON.stringify(name)}`, async () => {
      const { env } = await place();
      await assert.rejects(recordNamespace(env, { name, kind: 'session' }, now), refusal('usage'));
    });
});

describe('a marker', () => {
  test('lives until it is cleared, and stays on record with who and why', async () => {
    const { env } = await place();
    const marker = await setMarker(env, session, killed, now);
    assert.match(marker.id, /^[0-9a-f]{16}$/);
    assert.deepEqual(marker, {
      id: marker.id,
      namespace: 'claude-app',
      at: now.toISOString(),
      ...killed,
      cleared: null,
    });
    const later = new Date(now.getTime() + 60_000);
    const cleared = { ...marker, cleared: { at: later.toISOString(), by: 'uid:1', note: 'was me' } };
    assert.deepEqual(await clearMarkers(env, 'claude-app', { actor: 'uid:1', note: 'was me' }, later), [
      cleared,
    ]);
    assert.deepEqual((await recordsOf(env))[0]?.markers, [cleared]);
    assert.deepEqual(await clearMarkers(env, 'claude-app', { actor: 'uid:1', note: 'again' }, later), []);
  });
  test('of one namespace is not cleared with another', async () => {
    const { env } = await place();
    await setMarker(env, session, killed, now);
    await setMarker(env, { name: 'codex-web', kind: 'session' }, killed, now);
    await clearMarkers(env, 'codex-web', { actor: 'uid:1', note: 'x' }, now);
    const live = (await recordsOf(env)).map(({ name, markers }) => [
      name,
      markers.some((one) => one.cleared === null),
    ]);
    assert.deepEqual(live, [
      ['claude-app', true],
      ['codex-web', false],
    ]);
  });
  test('is not lost when twenty are set at once', async () => {
    const { env } = await place();
    await Promise.all(Array.from({ length: 20 }, () => setMarker(env, session, killed, now)));
    const [record] = await recordsOf(env);
    assert.equal(new Set(record?.markers.map(({ id }) => id)).size, 20);
  });
  test('two hundred are kept, and the last of them counts', async () => {
    const { env } = await place();
    for (let number = 0; number < 205; number += 1)
      await setMarker(env, session, { ...killed, detail: String(number) }, now);
    const [record] = await recordsOf(env);
    assert.deepEqual([record?.markers.length, record?.markers.at(-1)?.detail], [200, '204']);
  });
  test('a name that changed its kind is of the new one, and keeps its markers', async () => {
    const { env } = await place();
    await setMarker(env, session, killed, now);
    await recordNamespace(env, { ...session, kind: 'serve' }, now);
    const [record] = await recordsOf(env);
    assert.deepEqual([record?.kind, record?.markers.length], ['serve', 1]);
  });
  test('clearing what was never recorded makes no record', async () => {
    const { env } = await place();
    assert.deepEqual(await clearMarkers(env, 'claude-app', { actor: 'uid:1', note: 'x' }, now), []);
    assert.deepEqual(await recordsOf(env), []);
  });
});

describe('what is not ours to trust', () => {
  test('a damaged record is never passed over, nor written over', async () => {
    const { env, folder } = await place();
    await setMarker(env, session, killed, now);
    const file = path.join(folder, 'claude-app.json');
    for (const text of [
      '',
      '{',
      '[]',
      (await readFile(file, 'utf8')).replace('"version": 1', '"version": 2'),
    ]) {
      await writeFile(file, text);
      await countsAsContaminated(env, 'claude-app');
      await assert.rejects(setMarker(env, session, killed, now), refusal('state_damaged'));
      assert.equal(await readFile(file, 'utf8'), text);
    }
  });
  test('a record under another name is refused', async () => {
    const { env, folder } = await place();
    await recordNamespace(env, session, now);
    await writeFile(
      path.join(folder, 'codex-web.json'),
      await readFile(path.join(folder, 'claude-app.json')),
    );
    await countsAsContaminated(env, 'codex-web');
    assert.deepEqual(await markersOf(env, 'claude-app'), []);
  });
  test('what is no file, or too large for one, is damaged, and never waited for', async () => {
    const { env, folder } = await place();
    await setMarker(env, session, killed, now);
    const file = path.join(folder, 'claude-app.json');
    const odd: readonly (() => Promise<unknown> | void)[] = [
      () => mkdir(file),
      () => symlink(folder, file),
      () => symlink(file, file),
      () => symlink('/dev/zero', file),
      () => void execFileSync('mkfifo', [file]),
      () => writeFile(file, Buffer.alloc(5 * 1024 * 1024, ' ')),
    ];
    for (const make of odd) {
      await rm(file, { recursive: true });
      await make();
      await countsAsContaminated(env, 'claude-app');
    }
  });
  test('it holds back its own namespace, and the servers in it, but nobody else’s', async () => {
    const { env, folder } = await place();
    await recordNamespace(env, session, now);
    await writeFile(path.join(folder, 'codex-web.json'), 'x');
    const { namespaces, markers } = await knownNamespaces(env, () => undefined);
    const names = [...namespaces, { name: 'codex-web/tracker', kind: 'server' as const }];
    const reasonOf = (namespace: string): string =>
      assess(
        { namespace, mode: 'restart', confirm: `restart ${namespace}` },
        {
          principal: { actor: 'uid:1', role: 'operator' },
          namespaces: names,
          operatorAuthorization: '1',
          hook: 'session',
          markers,
        },
      ).reason_code;
    assert.deepEqual(['claude-app', 'codex-web', 'codex-web/tracker'].map(reasonOf), [
      'host_action_required',
      'contaminated_runtime',
      'contaminated_runtime',
    ]);
  });
  test('a folder that others can write is refused', async () => {
    const { env, folder } = await place();
    await recordNamespace(env, session, now);
    await chmod(folder, 0o777);
    await assert.rejects(recordsOf(env), refusal('unsafe_location'));
    await assert.rejects(setMarker(env, session, killed, now), refusal('unsafe_location'));
  });
});
