/** Every case of the corpus of client configs through the command line: add, add again, replace, restore. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { Json } from '../../src/edit/types.ts';
import { bytes, index, json, variants } from '../edit/corpus.ts';
import { startResident, type Said } from '../support/resident.ts';

type Case = {
  readonly client: string;
  readonly format: string;
  readonly path: readonly string[];
  readonly key: string;
  readonly value: Json;
  readonly replacement?: Json;
};
type Refused = { readonly code: string; readonly line?: number; readonly column?: number };

const scratch = mkdtempSync(path.join(os.tmpdir(), 'wraptool-config-'));
const home = path.join(scratch, 'home');
mkdirSync(home);
const cli = startResident({ HOME: home, PATH: '/usr/bin:/bin' });
after(async () => {
  await cli.end();
  rmSync(scratch, { recursive: true });
});

function facts(said: Said): Record<string, unknown> {
  assert.equal(said.code, 0, said.stdout + said.stderr);
  return JSON.parse(said.stdout) as Record<string, unknown>;
}

const state = (client: string): string[] => {
  const folder = path.join(home, '.local/state/wraptool/clients', client);
  return existsSync(folder) ? readdirSync(folder) : [];
};

let number = 0;
function fresh(format: string, before: string | null): string {
  const folder = path.join(scratch, String((number += 1)));
  mkdirSync(folder);
  const file = path.join(folder, `client.${format}`);
  if (before !== null) writeFileSync(file, before, { mode: 0o644 });
  return file;
}

const add = (client: string, file: string, value: Json): Promise<Said> =>
  cli.wraptool('harness', 'config', client, '--file', file, '--entry', JSON.stringify(value), '--json');
const restore = (client: string, file: string): Promise<Said> =>
  cli.wraptool('harness', 'restore', client, '--file', file, '--json');

void describe('harness config --file --entry, and restore', () => {
  for (const { id, what } of index('clients')) {
    const entry = json<Case>('clients', id, 'entry');
    const text = (name: string): string | null =>
      bytes('clients', id, `${name}.${entry.format}`)?.toString('latin1') ?? null;
    const given = (name: string): string | null =>
      bytes('clients', id, `${name}.${entry.format}`)?.toString() ?? null;
    if (given('after-add') === null) {
      void test(`${id} ${entry.client}: ${what} is refused and left alone`, async () => {
        const file = fresh(entry.format, null);
        writeFileSync(file, bytes('clients', id, `before.${entry.format}`) ?? '');
        const said = await add(entry.client, file, entry.value);
        const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string } };
        const { code, line, column } = json<Refused>('clients', id, 'refused');
        assert.deepEqual([said.code, error.code], [3, code]);
        const place = [file, line, column].filter((part) => part !== undefined).join(':');
        assert.ok(error.message.startsWith(place), error.message);
        assert.equal(readFileSync(file, 'latin1'), text('before'));
      });
      continue;
    }
    const before = given('before');
    for (const { name, of } of before === null ? variants('').slice(0, 1) : variants(before))
      void test(`${id} ${entry.client}: ${what}${name}`, async () => {
        const original = before === null ? null : of(before);
        const file = fresh(entry.format, original);
        const first = facts(await add(entry.client, file, entry.value));
        assert.deepEqual(
          [first['file'], first['path'], first['entry'], first['changed']],
          [file, [...entry.path, entry.key], entry.value, true],
        );
        assert.equal(readFileSync(file, 'utf8'), of(given('after-add') ?? ''));
        assert.equal(statSync(file).mode & 0o777, original === null ? 0o600 : 0o644);
        assert.equal(facts(await add(entry.client, file, entry.value))['changed'], false);
        assert.equal(readFileSync(file, 'utf8'), of(given('after-add') ?? ''));
        const edited = given('edited');
        if (edited !== null) {
          writeFileSync(file, of(edited));
          const done = edited === given('after-remove') ? 'nothing' : 'entry-removed';
          assert.equal(facts(await restore(entry.client, file))['done'], done);
          assert.equal(readFileSync(file, 'utf8'), of(given('after-remove') ?? ''));
        } else {
          if (entry.replacement !== undefined) {
            await add(entry.client, file, entry.replacement);
            assert.equal(readFileSync(file, 'utf8'), of(given('after-replace') ?? ''));
          }
          const done = original === null ? 'file-removed' : 'restored';
          assert.equal(facts(await restore(entry.client, file))['done'], done);
          assert.equal(existsSync(file) ? readFileSync(file, 'utf8') : null, original);
        }
        assert.equal(facts(await restore(entry.client, file))['done'], 'nothing');
        assert.deepEqual(state(entry.client), []);
        assert.deepEqual(readdirSync(path.dirname(file)), existsSync(file) ? [path.basename(file)] : []);
      });
  }
});

void describe('the descriptor’s own entry is the one of the corpus', () => {
  const clients = new Map(
    index('clients').map(({ id }) => {
      const entry = json<Case>('clients', id, 'entry');
      return [entry.client, entry] as const;
    }),
  );
  for (const [client, { value, path: keys, key, format }] of clients)
    void test(client, async () => {
      const said = facts(
        await cli.wraptool(
          'harness',
          'config',
          client,
          '--print',
          '--json',
          '--url',
          'http://127.0.0.1:7801/mcp',
        ),
      );
      const shown = JSON.stringify(value).replace('0123456789abcdef0123456789abcdef', '<WRAPTOOL_TOKEN>');
      assert.deepEqual(
        [said['entry'], said['path'], said['format']],
        [JSON.parse(shown), [...keys, key], format],
      );
    });
});
