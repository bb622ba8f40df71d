/**
 * The real Claude Code, keyless, in each runtime. Its network is the runtime's own empty namespace, into which the
 * scripted model is started: nothing else is reachable, and nothing can phone out.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import type { RuntimeName } from '../../src/up/runtime/runtime.ts';
import { pathWithGuix } from '../support/guix.ts';
import { needs, type Part } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { modelUrl, patience, startModel } from './model-inside.ts';
import { gitConfig, place, type Place } from './place.ts';
import { main } from '../support/main.ts';

const denial = `DENIED: 'git push --force origin main' is not permitted.

Policy: flag '--force' is not in the allowlist for 'git push'.
Allowed flags for 'git push': --set-upstream

To request this capability, call the 'wraptool_request_capability' tool.`;

const runtimes: readonly { name: RuntimeName; parts: readonly Part[] }[] = [
  { name: 'guix', parts: ['guix'] },
  { name: 'bubblewrap', parts: ['bubblewrap'] },
  { name: 'devcontainer', parts: ['docker'] },
];

/** Claude Code is installed once for all tests, where an operator's own would be. */
async function ready(t: TestContext): Promise<Place> {
  const where = await place(t);
  where.env['PATH'] = pathWithGuix(where.env['PATH']);
  where.env['XDG_CACHE_HOME'] = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  await where.writeConfig(
    `${gitConfig}up:\n  base_image: wraptool-test-base\n  network: none\n  harness_env: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ENABLE_TOOL_SEARCH]\n`,
  );
  Object.assign(where.env, {
    ANTHROPIC_API_KEY: 'a-key-that-opens-nothing-at-all',
    ANTHROPIC_BASE_URL: modelUrl,
    ENABLE_TOOL_SEARCH: 'false',
  });
  const installed = await where.wraptool(['harness', 'install', 'claude']);
  assert.equal(installed.code, 0, installed.stderr);
  return where;
}

for (const { name: runtime, parts } of runtimes) {
  void test(
    `${runtime}: one-shot Claude Code lists the gateway, reads git status through it, and is denied a forced push`,
    needs('root', 'npm-registry', ...parts),
    async (t) => {
      const where = await ready(t);
      await writeFile(path.join(where.workspace, 'draft.txt'), 'x\n');
      const child = where.start([
        'up',
        'claude',
        '--runtime',
        runtime,
        '--name',
        'one-shot',
        '--',
        '-p',
        'hi',
        '--output-format',
        'stream-json',
        '--verbose',
      ]);
      child.stdin?.end();
      const lines: string[] = [];
      let errors = '';
      child.stdout?.setEncoding('utf8').on('data', (text: string) => lines.push(text));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      const scripted = await startModel(t, where, 'one-shot', [
        { tool: '^mcp__wraptool__git_status$', input: {} },
        {
          tool: '^mcp__wraptool__git_push$',
          input: { flags: { '--force': true }, args: ['origin', 'main'] },
        },
        { text: 'all done' },
      ]);
      assert.equal(await ended, 0, errors);
      const events = lines
        .join('')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      const first = events[0] as {
        subtype: string;
        tools: string[];
        mcp_servers: { name: string; status: string }[];
      };
      assert.equal(first.subtype, 'init');
      assert.deepEqual(
        first.mcp_servers.map(({ name, status }) => `${name} ${status}`),
        ['wraptool connected'],
      );
      assert.deepEqual(
        first.tools.filter((tool) => tool.startsWith('mcp__')).sort(),
        [
          'git_diff',
          'git_log',
          'git_push',
          'git_status',
          'wraptool_discover',
          'wraptool_request_capability',
          'wraptool_run',
        ].map((tool) => `mcp__wraptool__${tool}`),
      );
      const results = (await scripted.requests()).at(-1)?.results ?? [];
      assert.match(results[0]?.text ?? '', /^On branch main[^]*draft\.txt/);
      assert.deepEqual(
        { text: results[1]?.text, isError: results[1]?.isError },
        { text: denial, isError: true },
      );
      assert.equal(existsSync(`${where.env['XDG_RUNTIME_DIR']}/wraptool/one-shot`), false);
    },
  );

  void test(
    `${runtime}: Claude Code's own screen has the terminal's size, follows a resize, asks before it writes, and ends by Ctrl-C`,
    needs('root', 'npm-registry', 'tmux', ...parts),
    async (t) => {
      const where = await ready(t);
      const env = Object.entries(where.env).map(([key, value]) => `${key}=${value}`);
      const terminal = new Terminal({ columns: 100, rows: 32 }, [
        'env',
        '-i',
        ...env,
        'sh',
        '-c',
        `cd "$1" && "$2" "$3" up claude --runtime ${runtime} --name tui; echo "ended with $?"; exec sh`,
        'sh',
        where.workspace,
        process.execPath,
        main,
      ]);
      t.after(() => terminal.close());
      await startModel(t, where, 'tui', [
        {
          tool: '^Write$',
          input: { file_path: path.join(where.workspace, 'made.txt'), content: 'made inside\n' },
        },
        { tool: '^mcp__wraptool__git_status$', input: {} },
        { text: 'the file is written' },
      ]);
      await terminal.shows(/^─{100}$/m, patience);
      assert.doesNotMatch(
        terminal.text(),
        /trust the files|custom API key|auto mode|Choose the text style/i,
        'no first-run dialog',
      );
      terminal.resize({ columns: 80, rows: 24 });
      await terminal.shows(/^─{80}$/m, patience);
      terminal.keys('-l', 'write a file');
      terminal.keys('Enter');
      await terminal.shows(/Do you want to (create|make)[^]*made\.txt/, patience);
      assert.equal(existsSync(path.join(where.workspace, 'made.txt')), false);
      await terminal.answers(/Do you want to (create|make)/, 'Enter', patience);
      await terminal.shows(/the file is written/, patience);
      const { uid, gid } = await stat(path.join(where.workspace, 'made.txt'));
      assert.deepEqual({ uid, gid }, { uid: process.getuid?.(), gid: process.getgid?.() });
      terminal.keys('C-c');
      await terminal.shows(/Ctrl-C again to exit/i, patience);
      terminal.keys('C-c');
      await terminal.shows(/ended with 0/, patience);
      assert.equal(existsSync(`${where.env['XDG_RUNTIME_DIR']}/wraptool/tui`), false);
    },
  );
}
