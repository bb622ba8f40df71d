import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const support = fileURLToPath(new URL('../support/', import.meta.url));

function node(args: readonly string[], env: Record<string, string>, cwd?: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env, cwd });
  return { status, stdout, stderr };
}

test('the summary counts tests, not suites, and names each skip’s reason and each failure', () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'wraptool-summary-'));
  try {
    writeFileSync(
      path.join(dir, 'a.test.mjs'),
      `import { describe, test } from 'node:test';
describe('suite', () => {
  test('one', () => {});
  test('two', { skip: 'docker: not there' }, () => {});
});
test('three', () => { throw new Error('no'); });
test('four', (t) => t.skip('docker: not there'));
`,
    );
    const args = [path.join(support, 'run.ts'), 'a.test.mjs'];
    const { status, stdout, stderr } = node(args, { PATH: '/usr/bin:/bin' }, dir);
    assert.deepEqual(
      { status, stdout: stdout.replace(/^.* [0-9]+\.[0-9] s/s, 'N s'), stderr },
      {
        status: 1,
        stdout: `N s  a.test.mjs
skipped: docker: not there
  a.test.mjs: two
  a.test.mjs: four
failed: a.test.mjs: three
1 passed, 1 failed, 2 skipped
`,
        stderr: '',
      },
    );
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('one file of many that fails is run again, which counts, and is named', () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'wraptool-again-'));
  try {
    const good = "import { test } from 'node:test'; test('good', () => {});";
    for (let n = 0; n < 9; n += 1) writeFileSync(path.join(dir, `good-${n}.test.mjs`), good);
    const once = (mark: string) => `import fs from 'node:fs'; import { test } from 'node:test';
test('steady', () => {});
test('unsteady', () => { if (!fs.existsSync('${mark}')) { fs.writeFileSync('${mark}', ''); throw new Error('no'); } });`;
    writeFileSync(path.join(dir, 'a.test.mjs'), once('a'));
    const files = readdirSync(dir);
    const again = (names: readonly string[]) => {
      const { status, stdout } = node(
        [path.join(support, 'run.ts'), ...names],
        { PATH: '/usr/bin:/bin' },
        dir,
      );
      return [status, ...stdout.trim().split('\n').slice(-2)];
    };
    assert.deepEqual(again(files), [
      0,
      'unsteady, failed once, passed when run again: a.test.mjs: unsteady',
      '11 passed, 0 failed, 0 skipped',
    ]);
    // Twice the same, three files, or a run of few: no second chance.
    writeFileSync(path.join(dir, 'a.test.mjs'), good.replace('{}', "{ throw new Error('always'); }"));
    assert.deepEqual(again(files), [1, 'failed: a.test.mjs: good', '9 passed, 1 failed, 0 skipped']);
    for (const name of ['x', 'y', 'z']) writeFileSync(path.join(dir, `${name}.test.mjs`), once(name));
    const many = again(readdirSync(dir).filter((name) => name.endsWith('.mjs') && name !== 'a.test.mjs'));
    assert.deepEqual(many, [1, 'failed: z.test.mjs: unsteady', '12 passed, 3 failed, 0 skipped']);
    writeFileSync(path.join(dir, 'w.test.mjs'), once('w'));
    const few = again(['w.test.mjs', 'good-0.test.mjs']);
    assert.deepEqual(few, [1, 'failed: w.test.mjs: unsteady', '2 passed, 1 failed, 0 skipped']);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

const ask = `import { needs } from '${path.join(support, 'real.ts')}'; console.log(JSON.stringify(needs('tmux')));`;

test('a missing part skips with its reason', () => {
  assert.deepEqual(node(['--input-type=module', '-e', ask], { PATH: '/nonexistent' }), {
    status: 0,
    stdout: '{"skip":"tmux: tmux does not run: ENOENT"}\n',
    stderr: '',
  });
});

test('a missing part fails in CI', () => {
  const made = node(['--input-type=module', '-e', ask], { PATH: '/nonexistent', CI: 'true' });
  assert.notEqual(made.status, 0);
  assert.match(made.stderr, /CI lacks tmux: tmux does not run: ENOENT/);
});
