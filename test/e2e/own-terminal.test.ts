/** `up --devcontainer workspace` before a person: it asks, shows a change as a diff, and ends when it is asked to. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ensureTestImage, testImage } from '../support/image.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { definition, rig } from './own-rig.ts';
import { until } from '../support/until.ts';
import { finish } from './place.ts';

const parts = needs('docker', 'tmux');
const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
before(() => {
  if (parts.skip === undefined) ensureTestImage();
});

void test('it asks on a terminal; a change is shown as a diff and asked for again', parts, async (t) => {
  const at = await rig(t, { [definition]: JSON.stringify({ image: testImage, privileged: false }) });
  const started = (): Terminal => {
    const env = Object.entries(at.env).map(([name, value]) => `${name}=${value}`);
    const script =
      'cd "$1"; "$2" "$3" up shell --devcontainer workspace -- -c "echo in-the-container"; echo "ended with $?"; exec sh';
    const terminal = new Terminal({ columns: 120, rows: 50 }, [
      'env',
      '-i',
      ...env,
      'sh',
      '-c',
      script,
      'sh',
      at.workspace,
      process.execPath,
      main,
    ]);
    t.after(() => terminal.close());
    return terminal;
  };
  const first = started();
  await first.shows(/never approved before[^]*approve exactly this\? \[y\/N\]/, 30_000);
  first.keys('y', 'Enter');
  await first.shows(/in-the-container[^]*ended with 0/, 60_000);
  await writeFile(
    path.join(at.workspace, definition),
    JSON.stringify({ image: testImage, privileged: true }),
  );
  const second = started();
  const shown = await second.shows(/changed since[^]*approve exactly this\? \[y\/N\]/, 30_000);
  assert.match(shown, /\+ host +privileged/);
  assert.match(shown, /-\{"image":"[^"]*","privileged":false\}/);
  second.keys('n', 'Enter');
  await second.shows(/is not approved as it is now[^]*ended with 3/, 30_000);
});

void test('ended during a lifecycle command, it leaves nothing', parts, async (t) => {
  const at = await rig(t, {
    [definition]: JSON.stringify({ image: testImage, postCreateCommand: 'echo now-it-waits; sleep 600' }),
  });
  await at.wraptool(['devcontainer', 'approve', '--yes']);
  const name = `own-end-${process.pid}`;
  const child = at.start([
    'up',
    'shell',
    '--devcontainer',
    'workspace',
    '--name',
    name,
    '--',
    '-c',
    'echo never',
  ]);
  let said = '';
  child.stderr?.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const ended = finish(child, '');
  await until('the command runs', () => said.includes('now-it-waits'), 60_000);
  child.kill('SIGTERM');
  const { code, stdout } = await ended;
  assert.deepEqual([code, stdout], [143, '']);
  const left = execFileSync('docker', ['ps', '-aq', '--filter', `label=wraptool.session=${name}`]);
  assert.equal(left.toString(), '');
  assert.deepEqual(await readdir(path.join(at.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool')), []);
});
