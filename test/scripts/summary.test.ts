import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    const args = ['--test', `--test-reporter=${path.join(support, 'summary.ts')}`, 'a.test.mjs'];
    const { status, stdout, stderr } = node(args, { PATH: '/usr/bin:/bin' }, dir);
    assert.deepEqual(
      { status, stdout: stdout.replace(/^ *[0-9]+\.[0-9] s/, 'N s'), stderr },
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
