/** What is published: packed, installed into an empty folder, and run from there. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { finish, gitConfig, place, type Place, type Result } from '../e2e/place.ts';
import { needs } from '../support/real.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Asks the relay, inside, for one tool call, and prints the answer. */
const askRelay = `coproc RELAY { node /opt/wraptool/relay/main.js; }
ask() { echo "$1" >&"\${RELAY[1]}"; }
ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
until read -r line <&"\${RELAY[0]}" && [[ $line == *'"id":1'* ]]; do :; done
ask '{"jsonrpc":"2.0","method":"notifications/initialized"}'
ask '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"git_status","arguments":{"flags":{"--short":true}}}}'
until read -r line <&"\${RELAY[0]}" && [[ $line == *'"id":2'* ]]; do :; done
printf '%s\\n' "$line"
exit 7`;

describe('the published package', needs('linux', 'npm-registry', 'bubblewrap'), () => {
  let dir = '';
  const installed = () => path.join(dir, 'app/node_modules/wraptool');

  before(async () => {
    dir = await mkdtemp(path.join(os.tmpdir(), 'wraptool-package-'));
    await mkdir(path.join(dir, 'app'));
    // prepack is a script of this repository, whose .npmrc says that none runs unasked
    const packed = await run(
      'npm',
      ['pack', '--ignore-scripts=false', '--silent', '--pack-destination', dir],
      { cwd: root },
    );
    const tarball = path.join(dir, packed.stdout.trim().split('\n').at(-1) ?? '');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['install', ...quiet, tarball], { cwd: path.join(dir, 'app') });
  });
  after(() => rm(dir, { recursive: true, force: true }));

  /** Runs the installed program as npm's link for it would. */
  function wraptool(where: Place, args: readonly string[]): Promise<Result> {
    const options = { cwd: where.workspace, env: where.env };
    return finish(spawn(process.execPath, [path.join(installed(), 'dist/main.js'), ...args], options), '');
  }

  test('has the program’s link, and no file of the development', async () => {
    const { stdout } = await run('find', ['.', '-maxdepth', '1', '-printf', '%f\n'], { cwd: installed() });
    assert.deepEqual(stdout.trim().split('\n').sort(), [
      '.',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'devcontainer',
      'dist',
      'harnesses',
      'package.json',
      'templates',
    ]);
    const notices = await readFile(path.join(installed(), 'dist/THIRD_PARTY.txt'), 'utf8');
    for (const name of ['yaml', 'zod', 'commander', 'dockerode'])
      assert.match(notices, new RegExp(`^${name} \\d`, 'm'));
    const link = await run(process.execPath, [path.join(dir, 'app/node_modules/.bin/wraptool'), '--version']);
    const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    assert.equal(link.stdout, `${version}\n`);
  });

  test('init writes the starter config that it ships, and the policy is judged by it', async (t) => {
    const where = await place(t);
    assert.equal((await wraptool(where, ['init'])).code, 0);
    const judged = await wraptool(where, ['policy', 'test', '--json', '--', 'git', 'push', '--force']);
    assert.equal(judged.code, 3, judged.stderr);
    assert.equal((JSON.parse(judged.stdout) as { decision: string }).decision, 'deny');
  });

  for (const { runtime, part } of [
    { runtime: 'bubblewrap', part: 'bubblewrap' },
    { runtime: 'devcontainer', part: 'docker' },
  ] as const)
    test(
      `${runtime}: a tool call through the shipped relay, and the harness's exit code`,
      needs(part),
      async (t) => {
        const where = await place(t);
        await where.writeConfig(`${gitConfig}up: { base_image: wraptool-test-base, network: none }\n`);
        const args = ['up', 'shell', '--runtime', runtime, '--', '-c', askRelay];
        const { code, stdout, stderr } = await wraptool(where, args);
        assert.equal(code, 7, stderr);
        const { result } = JSON.parse(stdout) as { result: { structuredContent: { exit_code: number } } };
        assert.equal(result.structuredContent.exit_code, 0);
      },
    );
});
