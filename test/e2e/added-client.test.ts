/** A client that wraptool has never heard of: one file, one `harness add`, then `up`; from a registry of the test's own. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outerAddress, startRegistry, type Registry } from '../harness/registry.ts';
import { needs } from '../support/real.ts';
import { finish, gitConfig, place, until, type Place, type Result } from './place.ts';

const address = outerAddress();
const real = needs('linux', 'bubblewrap', 'network-private', 'git');
const options = real.skip === undefined && address === null ? { skip: 'this host has loopback alone' } : real;
const source = readFileSync(
  fileURLToPath(new URL('../fixtures/harness/parrot.mjs', import.meta.url)),
  'utf8',
);

const descriptor = `# A parrot.
version: 1
name: parrot
title: Parrot
install: { npm: { package: parrot, version: 1.0.0 } }
command: ['%{node}', '%{harness}/node_modules/parrot/parrot.mjs']
run:
  args: [--config, '%{files}/parrot.json']
  files:
    - where: session
      path: parrot.json
      json:
        servers:
          wraptool:
            command: '%{node}'
            args: ['%{relay}']
            env: { WRAPTOOL_URL: '%{url}', WRAPTOOL_TOKEN: '\${WRAPTOOL_TOKEN}' }
yolo: { args: [--repeat-anything] }
health: { args: [list] }
one_shot: [say]
list_changed: false
`;

let registry: Registry;
before(async () => {
  registry = await startRegistry(address ?? '127.0.0.1', () => [
    { name: 'parrot', version: '1.0.0', files: { 'parrot.mjs': source } },
  ]);
});
after(() => registry.close());

async function ready(t: TestContext): Promise<Place> {
  const where = await place(t);
  Object.assign(where.env, { npm_config_registry: registry.url, PATH: process.env['PATH'] ?? '' });
  await where.writeConfig(`${gitConfig}up: { network: none }\n`);
  return where;
}

async function added(t: TestContext): Promise<Place> {
  const where = await ready(t);
  const file = path.join(where.dir, 'given.yaml');
  await writeFile(file, descriptor);
  const said = await where.wraptool(['harness', 'add', 'parrot', '--from', file]);
  assert.equal(said.code, 0, said.stderr);
  return where;
}

const up = ['up', 'parrot', '--runtime', 'bubblewrap'];

type Said = { tools: string[]; call: { content: { text: string }[] }; words: string[]; home: string };
function answer(result: Result): Said {
  assert.equal(result.code, 0, result.stderr);
  return JSON.parse(result.stdout) as Said;
}

const tarballs = (): number => registry.asked.filter((where) => where.startsWith('parrot/-/')).length;

describe('a client of which there is one file', options, () => {
  test('is added, installed confined, and calls the gateway from bubblewrap', async (t) => {
    const where = await added(t);
    const file = path.join(where.home, '.config/wraptool/harnesses/parrot.yaml');
    assert.equal(readFileSync(file, 'utf8'), descriptor);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const listed = await where.wraptool(['harness', 'list', '--json']);
    const names = (JSON.parse(listed.stdout) as { name: string; origin: string }[]).filter(
      ({ origin }) => origin === 'user',
    );
    assert.deepEqual(
      names.map(({ name }) => name),
      ['parrot'],
    );
    await writeFile(path.join(where.workspace, 'draft.txt'), 'x\n');
    const { tools, call, words, home } = answer(await where.wraptool([...up, '--', 'say', 'hello']));
    assert.ok(tools.includes('git_status'), tools.join());
    assert.match(call.content[0]?.text ?? '', /draft\.txt/);
    assert.deepEqual(words, ['--config', '/opt/wraptool/files/parrot.json', 'say', 'hello']);
    assert.equal(home, '/home/agent');
    assert.deepEqual(answer(await where.wraptool([...up, '--yolo'])).words.at(-1), '--repeat-anything');
    assert.deepEqual(await readdir(path.join(where.dir, 'run/wraptool')), []);
  });

  test('is checked: it found its gateway, whatever its exit code', async (t) => {
    const where = await added(t);
    const state = path.join(where.home, '.local/state/wraptool');
    const said = await where.wraptool(['harness', 'check', 'parrot', '--runtime', 'bubblewrap', '--json']);
    assert.equal(said.code, 0, said.stderr);
    assert.deepEqual(JSON.parse(said.stdout), {
      harness: 'parrot',
      version: '1.0.0',
      listed_by: 'parrot/1.0.0',
    });
    assert.deepEqual(await readdir(path.join(where.dir, 'run/wraptool')), []);
    assert.equal(existsSync(path.join(state, 'homes')), false);
  });

  test('that finds no gateway fails its check, with what it said', async (t) => {
    const where = await ready(t);
    const file = path.join(where.dir, 'given.yaml');
    await writeFile(file, descriptor.replace('health: { args: [list] }', 'health: { args: [mute] }'));
    await where.wraptool(['harness', 'add', 'parrot', '--from', file]);
    const said = await where.wraptool(['harness', 'check', 'parrot', '--runtime', 'bubblewrap', '--json']);
    const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string } };
    assert.deepEqual(
      [said.code, error.code, error.message],
      [1, 'harness_check_failed', '"parrot" did not list the gateway\'s tools before it ended with 7'],
    );
  });

  test('that looks for none is ended in time, and leaves no session', async (t) => {
    const where = await ready(t);
    const file = path.join(where.dir, 'given.yaml');
    await writeFile(file, descriptor.replace('health: { args: [list] }', 'health: { args: [stuck] }'));
    await where.wraptool(['harness', 'add', 'parrot', '--from', file]);
    await where.wraptool(['harness', 'install', 'parrot']);
    const argv = ['harness', 'check', 'parrot', '--runtime', 'bubblewrap', '--timeout', '8', '--json'];
    const said = await where.wraptool(argv);
    const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string } };
    assert.deepEqual([said.code, error.message], [1, '"parrot" did not list the gateway\'s tools in time']);
    assert.deepEqual(await readdir(path.join(where.dir, 'run/wraptool')), []);
    const interrupted = where.start([...argv.slice(0, 5), '--timeout', '100', '--json']);
    const run = path.join(where.dir, 'run/wraptool');
    await until('a session', async () => (await readdir(run)).some((name) => name.startsWith('check-')));
    interrupted.kill('SIGINT');
    const end = await finish(interrupted, '');
    assert.match(end.stdout, /"harness_check_failed","message":"the check was ended by SIGINT"/);
    assert.deepEqual(await readdir(run), []);
  });

  test('whose package is not what the descriptor says fails its check before anything runs', async (t) => {
    const where = await ready(t);
    const file = path.join(where.dir, 'given.yaml');
    await writeFile(file, descriptor.replace('parrot/parrot.mjs', 'parrot/cockatoo.mjs'));
    await where.wraptool(['harness', 'add', 'parrot', '--from', file]);
    const said = await where.wraptool(['harness', 'check', 'parrot', '--json']);
    const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string } };
    assert.deepEqual(
      [said.code, error.message],
      [1, 'the package came without "node_modules/parrot/cockatoo.mjs", which the descriptor runs'],
    );
  });

  test('two sessions at once on an empty cache make one installation, and both run', async (t) => {
    const where = await added(t);
    const before_ = tarballs();
    const both = [1, 2].map(() => where.start([...up, '--', 'say']));
    const results = await Promise.all(both.map((child) => finish(child, '')));
    for (const result of results)
      assert.match(answer(result).call.content[0]?.text ?? '', /On branch|##|nothing/);
    assert.equal(tarballs() - before_, 1);
    const cache = await readdir(path.join(where.home, '.cache/wraptool/harnesses/parrot'));
    assert.deepEqual(
      cache.filter((name) => !name.endsWith('.lock')),
      ['1.0.0'],
    );
  });
});

describe('harness add takes in', () => {
  const cases: [name: string, text: string, code: string, message: RegExp][] = [
    [
      'nothing that has errors',
      descriptor.replace('title: Parrot', 'titel: Parrot'),
      'harness_invalid',
      /has errors/,
    ],
    [
      'nothing under another name',
      descriptor.replace('name: parrot', 'name: budgie'),
      'harness_invalid',
      /names itself "budgie"/,
    ],
    [
      'no token on a command line',
      descriptor.replace("'%{files}/parrot.json'", "'%{token}'"),
      'harness_invalid',
      /has an error/,
    ],
    [
      'nothing that is too large',
      `${descriptor}#${'x'.repeat(300_000)}\n`,
      'harness_invalid',
      /at most 262144 bytes/,
    ],
    ['nothing that is not UTF-8', '\xff\xfe', 'not_utf8', /is not UTF-8/],
  ];
  for (const [name, text, code, message] of cases)
    test(name, async (t) => {
      const where = await place(t);
      const file = path.join(where.dir, 'given.yaml');
      await writeFile(file, text, name.includes('UTF-8') ? 'latin1' : 'utf8');
      const said = await where.wraptool(['harness', 'add', 'parrot', '--from', file, '--json']);
      const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string } };
      assert.deepEqual([error.code, said.code], [code, code === 'not_utf8' ? 3 : 2]);
      assert.match(error.message, message);
      assert.equal(existsSync(path.join(where.home, '.config/wraptool/harnesses')), false);
    });

  test('the same one twice, another one only with --replace, and none with --dry-run', async (t) => {
    const where = await place(t);
    const given = path.join(where.dir, 'given.yaml');
    const file = path.join(where.home, '.config/wraptool/harnesses/parrot.yaml');
    const add = async (text: string, ...flags: string[]): Promise<[number | null, unknown]> => {
      await writeFile(given, text);
      const said = await where.wraptool(['harness', 'add', 'parrot', '--from', given, '--json', ...flags]);
      const { changed, error } = JSON.parse(said.stdout) as { changed?: boolean; error?: { code: string } };
      return [said.code, changed ?? error?.code];
    };
    assert.deepEqual(await add(descriptor, '--dry-run'), [0, true]);
    assert.equal(existsSync(path.dirname(file)), false);
    assert.deepEqual(await add(descriptor), [0, true]);
    assert.deepEqual(await add(descriptor), [0, false]);
    const other = descriptor.replace('A parrot', 'Another parrot');
    assert.deepEqual(await add(other), [2, 'harness_exists']);
    assert.equal(readFileSync(file, 'utf8'), descriptor);
    assert.deepEqual(await add(other, '--replace'), [0, true]);
    assert.equal(readFileSync(file, 'utf8'), other);
  });

  test('a client of which only the config is known; `up` says that it does not run', async (t) => {
    const where = await place(t);
    await where.writeConfig(gitConfig);
    const said = await where.wraptool(['up', 'vscode', '--json']);
    const { error } = JSON.parse(said.stdout) as { error: { code: string; message: string; hint: string } };
    assert.deepEqual([said.code, error.code], [2, 'usage']);
    assert.match(error.message, /"vscode" does not run in a container/);
    assert.match(error.hint, /wraptool harness config vscode/);
  });
});
