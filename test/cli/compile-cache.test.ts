/** The cache of compiled code is only a matter of speed: where it cannot be, everything goes on without it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/real.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

function home(t: TestContext): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'wraptool-cache-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function version(HOME: string, ...before: readonly string[]): { code: number | null; err: string } {
  const [file, ...args] = [...before, process.execPath, main, '--version'];
  const { status, stderr } = spawnSync(file!, args, {
    cwd: '/',
    env: { HOME, PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  return { code: status, err: stderr };
}

test('in a HOME of one’s own it is kept', (t) => {
  const dir = home(t);
  assert.deepEqual(version(dir), { code: 0, err: '' });
  // Under /tmp, where another user could lay it, it is only kept because the folder is ours.
  assert.equal(existsSync(path.join(dir, '.cache/wraptool/compile')), true);
});

test('a file in its place, or above it, is no reason to fail', (t) => {
  const dir = home(t);
  mkdirSync(path.join(dir, '.cache'));
  writeFileSync(path.join(dir, '.cache/wraptool'), '');
  assert.deepEqual(version(dir), { code: 0, err: '' });
});

test('a HOME that this user may not enter is no reason to fail', needs('other-user'), (t) => {
  const others = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  assert.deepEqual(version(home(t), ...others), { code: 0, err: '' });
});
