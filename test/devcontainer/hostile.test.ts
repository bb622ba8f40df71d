/** Whatever stands in the place of a definition, looking at it ends, in time, with findings and not with a fault. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { inspect, type Inspection } from '../../src/devcontainer/inspect.ts';
import { cases } from './corpus.ts';

async function workspace(t: TestContext): Promise<string> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'wraptool-hostile-')));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(path.join(dir, 'w', '.devcontainer'), { recursive: true });
  return path.join(dir, 'w');
}

const definition = path.join('.devcontainer', 'devcontainer.json');
const look = (dir: string): Promise<Inspection | null> => inspect(dir, { cwd: '/' });
const codes = (found: Inspection | null) =>
  found?.findings.map(({ code, severity }) => `${severity} ${code}`);

const names = [
  ...[
    'image',
    'build',
    'dockerFile',
    'context',
    'dockerComposeFile',
    'service',
    'features',
    'mounts',
    'runArgs',
    'capAdd',
  ],
  ...[
    'securityOpt',
    'privileged',
    'appPort',
    'containerEnv',
    'remoteEnv',
    'workspaceMount',
    'workspaceFolder',
    '__proto__',
  ],
  ...[
    'initializeCommand',
    'postCreateCommand',
    'hostRequirements',
    'forwardPorts',
    'containerUser',
    'extends',
    'toString',
  ],
];
const words = fc.constantFrom(
  '',
  'a',
  '-v',
  '--mount',
  '${localEnv:X}',
  '${localEnv}',
  '..',
  '/etc',
  '~',
  'type=bind,src=/,dst=/a',
  './f',
  '\n',
  '\0',
  '"',
);

test('any value of any property is judged', async (t) => {
  const dir = await workspace(t);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      words,
      fc.constantFrom(null, true, 0, 1.5),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(
          words,
          fc.constantFrom(
            'dockerfile',
            'context',
            'options',
            'args',
            'cacheFrom',
            'source',
            'target',
            'type',
            'gpu',
          ),
        ),
        tie('value'),
        { maxKeys: 3 },
      ),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }), async (given) => {
      await writeFile(path.join(dir, definition), JSON.stringify(given));
      const found = await look(dir);
      assert.match(found?.hash ?? '', /^[0-9a-f]{64}$/);
      for (const one of found?.findings ?? []) assert.match(one.json_path, /^(\/|$)/);
    }),
    { numRuns: 400 },
  );
});

test('any bytes are judged', async (t) => {
  const dir = await workspace(t);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      await writeFile(path.join(dir, definition), bytes);
      assert.ok(await look(dir));
    }),
    { numRuns: 100 },
  );
});

for (const [what, make] of [
  ['a named pipe', (file: string) => void execFileSync('mkfifo', [file])],
  ['a folder', (file: string) => mkdir(file)],
  ['a device', (file: string) => symlink('/dev/zero', file)],
  ['a link in a circle', (file: string) => symlink('devcontainer.json', file)],
  ['a link to nothing', (file: string) => symlink('/nonexistent/x', file)],
  ['a file without an end', (file: string) => void execFileSync('truncate', ['-s', '1T', file])],
] as const)
  test(`${what} in the place of the definition`, async (t) => {
    const dir = await workspace(t);
    await make(path.join(dir, definition));
    const found = await look(dir);
    assert.ok(codes(found)?.includes('host parse_error'));
  });

test('pipes and devices in the place of what is named', async (t) => {
  const dir = await workspace(t);
  const given = {
    build: { dockerfile: 'Dockerfile' },
    features: { './f': {} },
    runArgs: ['--env-file', 'e'],
    postCreateCommand: 'sh s',
  };
  await writeFile(path.join(dir, definition), JSON.stringify(given));
  for (const name of ['.devcontainer/Dockerfile', 'e', 's', '.git'])
    execFileSync('mkfifo', [path.join(dir, name)]);
  await mkdir(path.join(dir, '.devcontainer', 'f'));
  await symlink('/dev/zero', path.join(dir, '.devcontainer', 'f', 'devcontainer-feature.json'));
  assert.ok(codes(await look(dir))?.includes('host symlink_outside'));
});

test('config files of git that include each other a thousand times over', async (t) => {
  const dir = await workspace(t);
  await writeFile(path.join(dir, definition), '{"image":"a"}');
  await mkdir(path.join(dir, '.git'));
  const include = '[include]\npath = config\npath = other\n'.repeat(1000);
  for (const name of ['config', 'other']) await writeFile(path.join(dir, '.git', name), include);
  assert.deepEqual(
    (await look(dir))?.findings.filter(({ severity }) => severity === 'host'),
    [],
  );
});

test('a context of more than is taken is said, not read for ever', async (t) => {
  const dir = await workspace(t);
  await writeFile(path.join(dir, definition), '{"build":{"dockerfile":"Dockerfile","context":".."}}');
  await writeFile(path.join(dir, '.devcontainer', 'Dockerfile'), 'FROM a\nCOPY . /a\n');
  await mkdir(path.join(dir, 'many'));
  await Promise.all(
    Array.from({ length: 5100 }, (_none, at) => writeFile(path.join(dir, 'many', String(at)), '')),
  );
  assert.equal((await look(dir))?.tooMuch, true);
});

test('the same workspace has the same hash', async (t) => {
  const dir = await workspace(t);
  await writeFile(path.join(dir, definition), JSON.stringify({ image: 'a', what: cases[0]?.what }));
  assert.equal((await look(dir))?.hash, (await look(dir))?.hash);
});
