import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Format, Grammar, Json } from '../../src/edit/types.ts';
import type { EntryPlace } from '../../src/edit/receipts.ts';
import { addEntry, restoreEntry } from '../../src/edit/undo.ts';
import { scratch } from '../support/scratch.ts';
import { bytes, index, json, variants } from './corpus.ts';
import { atCall } from './faulty-disk.ts';

type Case = {
  format: Format;
  grammar?: Grammar;
  path: string[];
  key: string;
  value: Json;
  replacement?: Json;
};

const child = fileURLToPath(new URL('editor-child.ts', import.meta.url));

function placeOf(dir: string, { format, grammar, path: keys, key }: Case): EntryPlace {
  return {
    file: path.join(dir, `client.${format}`),
    format,
    ...(grammar && { grammar }),
    path: [...keys, key],
  };
}

void describe('what was added, and then replaced, is taken back', () => {
  for (const { id, what, kind } of index('clients')) {
    if (bytes('clients', id, 'refused.json') !== null) continue;
    const entry = json<Case>('clients', id, 'entry');
    const before = bytes('clients', id, `before.${entry.format}`);
    for (const { name, of } of before === null ? variants('').slice(0, 1) : variants(before.toString()))
      void test(`${id} ${what}${name}: byte for byte`, async () => {
        const dir = scratch();
        const place = placeOf(dir, entry);
        const state = path.join(dir, 'state');
        const original = before === null ? null : of(before.toString());
        if (original !== null) writeFileSync(place.file, original);
        assert.equal((await addEntry(place, entry.value, state)).ok, true);
        if (entry.replacement !== undefined) await addEntry(place, entry.replacement, state);
        const done = original === null ? 'file-removed' : kind === 'unchanged' ? 'nothing' : 'restored';
        assert.deepEqual(await restoreEntry(place, state), { ok: true, done });
        assert.equal(existsSync(place.file) ? readFileSync(place.file, 'utf8') : null, original);
        assert.deepEqual(kind === 'unchanged' ? [] : readdirSync(state), []);
        assert.deepEqual(await restoreEntry(place, state), { ok: true, done: 'nothing' });
      });
    const edited = bytes('clients', id, `edited.${entry.format}`);
    if (edited === null) continue;
    void test(`${id} ${what}: what changed since loses only our entry`, async () => {
      const dir = scratch();
      const place = placeOf(dir, entry);
      writeFileSync(place.file, before ?? '');
      await addEntry(place, entry.value, dir);
      writeFileSync(place.file, edited);
      const restored = await restoreEntry(place, dir);
      const left = bytes('clients', id, `after-remove.${entry.format}`) as Buffer;
      assert.deepEqual(restored, { ok: true, done: left.equals(edited) ? 'nothing' : 'entry-removed' });
      assert.deepEqual(readFileSync(place.file), left);
    });
  }
});

const place = (dir: string): EntryPlace => ({
  file: path.join(dir, 'a.json'),
  format: 'json',
  path: ['mcp', 'w'],
});

void describe('receipts', () => {
  void test('hold what is needed and are for the operator alone', async () => {
    const dir = scratch();
    const state = path.join(dir, 'state');
    writeFileSync(path.join(dir, 'a.json'), '{"secret":"s"}');
    await addEntry(place(dir), { url: 'u' }, state);
    assert.equal(statSync(state).mode & 0o777, 0o700);
    const names = readdirSync(state).sort((one, other) => one.length - other.length);
    assert.equal(names.length, 2);
    for (const name of names) assert.equal(statSync(path.join(state, name)).mode & 0o777, 0o600);
    const receipt = JSON.parse(readFileSync(path.join(state, names[0] ?? ''), 'utf8')) as object;
    assert.deepEqual(Object.keys(receipt), ['version', 'file', 'path', 'made', 'before', 'after']);
    assert.equal(readFileSync(path.join(state, names[1] ?? ''), 'utf8'), '{"secret":"s"}');
  });
  void test('an entry that was changed by hand and then replaced is still only ours to take out', async () => {
    const dir = scratch();
    writeFileSync(path.join(dir, 'a.json'), '{ "a": 1 }\n');
    await addEntry(place(dir), { url: 'u' }, dir);
    writeFileSync(path.join(dir, 'a.json'), '{ "a": 2, "mcp": { "w": { "url": "mine" }, "b": {} } }\n');
    await addEntry(place(dir), { url: 'v' }, dir);
    assert.deepEqual(await restoreEntry(place(dir), dir), { ok: true, done: 'restored' });
    assert.equal(readFileSync(path.join(dir, 'a.json'), 'utf8'), '{ "a": 2, "mcp": { "b": {} } }\n');
  });
  void test('a file that no longer parses is left alone, and its receipt too', async () => {
    const dir = scratch();
    writeFileSync(path.join(dir, 'a.json'), '{}');
    await addEntry(place(dir), { url: 'u' }, dir);
    writeFileSync(path.join(dir, 'a.json'), '{ "mcp": }');
    const restored = await restoreEntry(place(dir), dir);
    assert.deepEqual(restored, {
      ok: false,
      code: 'syntax_error',
      why: 'a value is missing',
      line: 1,
      column: 10,
    });
    assert.equal(readdirSync(dir).length, 3);
  });
  void test('a file that is gone is not made again', async () => {
    const dir = scratch();
    await addEntry(place(dir), { url: 'u' }, dir);
    rmSync(path.join(dir, 'a.json'));
    assert.deepEqual(await restoreEntry(place(dir), dir), { ok: true, done: 'nothing' });
    assert.deepEqual(readdirSync(dir), []);
  });
  void test('a backup that was tampered with is not written', async () => {
    const dir = scratch();
    const state = path.join(dir, 'state');
    writeFileSync(path.join(dir, 'a.json'), '{}');
    await addEntry(place(dir), { url: 'u' }, state);
    const backup = readdirSync(state).find((name) => name.endsWith('.before')) ?? '';
    writeFileSync(path.join(state, backup), '{"evil":1}');
    await assert.rejects(restoreEntry(place(dir), state), {
      code: 'edit_failed',
      message: /is not what was saved$/,
    });
  });
});

void test('a kill -9 before any call of an addition leaves a file that restore gives back', async () => {
  const original = '{ "a": 1 }\n';
  const counted = scratch();
  writeFileSync(path.join(counted, 'a.json'), original);
  const { disk, calls } = atCall(0, () => undefined);
  await addEntry(place(counted), { url: 'u' }, path.join(counted, 'state'), disk);
  const changing = /^(rename|link|unlink|handle\.writeFile)$/;
  const killed = async (number: number): Promise<void> => {
    const dir = scratch();
    const file = path.join(dir, 'a.json');
    writeFileSync(file, original);
    const running = spawn(
      process.execPath,
      [child, file, '1', String(number), 'u', path.join(dir, 'state')],
      { stdio: 'inherit' },
    );
    assert.deepEqual(await once(running, 'exit'), [null, 'SIGKILL']);
    const restored = await restoreEntry(place(dir), path.join(dir, 'state'));
    assert.equal(restored.ok, true);
    assert.equal(readFileSync(file, 'utf8'), original, `${number} ${calls[number - 1]}`);
  };
  const numbers = calls.flatMap((call, index) => (changing.test(call) ? [index + 1] : []));
  assert.ok(numbers.length >= 8);
  while (numbers.length > 0) await Promise.all(numbers.splice(0, 3).map(killed));
});

void test('a kill -9 before any call of a restore leaves a file that the next one gives back', async () => {
  const original = '{ "a": 1 }\n';
  const prepared = async (): Promise<string> => {
    const dir = scratch();
    writeFileSync(path.join(dir, 'a.json'), original);
    await addEntry(place(dir), { url: 'u' }, path.join(dir, 'state'));
    return dir;
  };
  const counted = await prepared();
  const { disk, calls } = atCall(0, () => undefined);
  await restoreEntry(place(counted), path.join(counted, 'state'), disk);
  const killed = async (number: number): Promise<void> => {
    const dir = await prepared();
    const file = path.join(dir, 'a.json');
    const words = [child, file, '0', String(number), 'u', path.join(dir, 'state')];
    assert.deepEqual(await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit'), [
      null,
      'SIGKILL',
    ]);
    assert.equal((await restoreEntry(place(dir), path.join(dir, 'state'))).ok, true);
    assert.equal(readFileSync(file, 'utf8'), original, `${number} ${calls[number - 1]}`);
    assert.deepEqual(
      readdirSync(path.join(dir, 'state')).filter((name) => name.endsWith('.json')),
      [],
    );
    assert.deepEqual(
      readdirSync(dir).filter((name) => name.startsWith('.')),
      [],
    );
  };
  const changing = /^(rename|unlink|handle\.writeFile)$/;
  const numbers = calls.flatMap((call, index) => (changing.test(call) ? [index + 1] : []));
  assert.ok(numbers.length >= 5);
  while (numbers.length > 0) await Promise.all(numbers.splice(0, 3).map(killed));
});
