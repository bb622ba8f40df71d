/** What `harness config` writes, and what `harness check` says, with the real Claude Code, without a key. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { needs } from '../support/real.ts';
import { place, type Place } from './place.ts';
import { main } from '../support/main.ts';

/** Serves, waits until it listens, runs the client, and ends: all in a network of its own that has loopback alone. */
const script = `
set -eu
"$NODE" "$MAIN" serve > serve.out 2> serve.log & gateway=$!
until grep -q listening serve.out; do kill -0 $gateway; sleep 0.05; done
timeout 100 "$@" < /dev/null > client.log 2>&1 || true
kill $gateway
wait $gateway || true
`;

async function ready(t: TestContext): Promise<{ where: Place; claude: string }> {
  const where = await place(t);
  where.env['XDG_CACHE_HOME'] = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  where.env['PATH'] = process.env['PATH'] ?? '';
  const installed = await where.wraptool(['harness', 'install', 'claude']);
  assert.equal(installed.code, 0, installed.stderr);
  const tree = installed.stdout.trim();
  return { where, claude: path.join(tree, 'node_modules/@anthropic-ai/claude-code/bin/claude.exe') };
}

describe('Claude Code with the config that was written for it finds the gateway over', () => {
  for (const transport of ['http', 'sse', 'stdio'])
    test(transport, needs('root', 'bubblewrap', 'npm-registry'), async (t) => {
      const { where, claude } = await ready(t);
      await where.writeConfig("version: 1\nmcp: { listen: '127.0.0.1:7801' }\n");
      await writeFile(path.join(where.home, '.claude.json'), '{ "hasCompletedOnboarding": true }\n');
      const said = await where.wraptool(['harness', 'config', 'claude', '--transport', transport]);
      assert.equal(said.code, 0, said.stderr);
      const folder = path.join(where.dir, 'out');
      await mkdir(folder);
      const env = { ...where.env, NODE: process.execPath, MAIN: main, WRAPTOOL_TOKEN: 't'.repeat(32) };
      const confined = [
        '--dev-bind',
        '/',
        '/',
        '--unshare-net',
        '--unshare-pid',
        '--proc',
        '/proc',
        '--die-with-parent',
      ];
      const argv = [...confined, '--', 'sh', '-c', script, 'sh', claude, 'mcp', 'list'];
      await promisify(execFile)('bwrap', argv, { cwd: folder, env });
      const [log, client] = await Promise.all(
        ['serve.log', 'client.log'].map((name) => readFile(path.join(folder, name), 'utf8')),
      );
      assert.match(log ?? '', /its tools were listed/, client);
      assert.match(client ?? '', /wraptool: .*✔ Connected/);
      assert.equal((await where.wraptool(['harness', 'restore', 'claude', '--json'])).code, 0);
    });
});

test(
  'harness check proves in bubblewrap that Claude Code finds its gateway',
  needs('bubblewrap', 'npm-registry'),
  async (t) => {
    const { where } = await ready(t);
    const said = await where.wraptool(['harness', 'check', 'claude', '--runtime', 'bubblewrap', '--json']);
    assert.equal(said.code, 0, said.stderr);
    const { listed_by: client } = JSON.parse(said.stdout) as { listed_by: string };
    assert.match(client, /^claude-code\//);
  },
);
