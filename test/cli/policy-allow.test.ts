/** `policy allow` by the real CLI: a sample of each kind of the corpus, and what only the command does. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { bytes, index, json } from '../edit/corpus.ts';
import { main } from '../support/main.ts';

type Request = { tool: string; subcommand: string | null; flags: string[] };

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'wraptool-allow-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

function allow(file: string, request: Request, ...more: string[]) {
  const words = [
    '--tool',
    request.tool,
    ...(request.subcommand === null ? [] : ['--subcommand', request.subcommand]),
    ...request.flags.map((flag) => `--flag=${flag}`),
  ];
  return spawnSync(process.execPath, [main, 'policy', 'allow', '--config', file, ...words, ...more], {
    encoding: 'utf8',
    env: { HOME: path.dirname(file), PATH: '/usr/bin:/bin' },
  });
}

/** The first case of each kind, and of each refusal. */
const cases = [
  ...new Map(
    index('yaml').map((entry) => {
      const refused = bytes('yaml', entry.id, 'after.yaml') === null;
      const code = refused ? json<{ code: string }>('yaml', entry.id, 'refused').code : '';
      return [`${entry.kind} ${code}`, entry] as const;
    }),
  ).values(),
];

for (const { id, what } of cases)
  test(`${id} ${what}: by the command`, (t) => {
    const file = path.join(folder(t), 'config.yaml');
    const before = bytes('yaml', id, 'before.yaml') as Buffer;
    const after = bytes('yaml', id, 'after.yaml');
    writeFileSync(file, before, { mode: 0o640 });
    const done = allow(file, json<Request>('yaml', id, 'request'), '--json');
    assert.equal(done.stderr, '');
    assert.deepEqual(readFileSync(file), after ?? before);
    assert.equal(statSync(file).mode & 0o777, 0o640);
    if (after !== null) return assert.equal(done.status, 0);
    const { error } = JSON.parse(done.stdout) as { error: { code: string } };
    const { code } = json<{ code: string }>('yaml', id, 'refused');
    assert.deepEqual({ status: done.status, code: error.code }, { status: 3, code });
  });

const config = `# mine
version: 1
tools:
  git:
    binary: /usr/bin/git
    allow:
      - { subcommand: status, flags: [--short] } # keep
`;
const request = { tool: 'git', subcommand: 'status', flags: ['--branch'] };

test('--dry-run prints the diff and leaves the file alone', (t) => {
  const file = path.join(folder(t), 'config.yaml');
  writeFileSync(file, config);
  const done = allow(file, request, '--dry-run');
  assert.equal(done.status, 0);
  assert.match(done.stdout, /^-.*\[--short\] \} # keep\n\+.*\[--short, --branch\] \} # keep$/m);
  assert.match(done.stderr, /left alone/);
  assert.equal(readFileSync(file, 'utf8'), config);
});

test('a config behind a symbolic link is edited where it lies, and the link stays', (t) => {
  const dir = folder(t);
  writeFileSync(path.join(dir, 'real.yaml'), config);
  symlinkSync('real.yaml', path.join(dir, 'config.yaml'));
  assert.equal(allow(path.join(dir, 'config.yaml'), request).status, 0);
  assert.equal(
    readFileSync(path.join(dir, 'real.yaml'), 'utf8'),
    config.replace('[--short]', '[--short, --branch]'),
  );
});

test('no config is an error that says how to get one', (t) => {
  const done = allow(path.join(folder(t), 'none.yaml'), request);
  assert.equal(done.status, 2);
  assert.match(done.stderr, /there is no config at .*none\.yaml[^]*wraptool init/);
});
