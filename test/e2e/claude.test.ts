/**
 * The real Claude Code, keyless, in each runtime. Its network is the runtime's own empty namespace, into which the
 * scripted model is started: nothing else is reachable, and nothing can phone out.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, readlink, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Recorded, Step } from '../support/mock-model.ts';
import { needs, type Part } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { until } from '../support/until.ts';
import { gitConfig, place, seen, type Place } from './place.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const model = fileURLToPath(new URL('../support/mock-model.ts', import.meta.url));
const address = '127.0.0.1:8080';
/** A client's start may take long on a machine that runs other tests. */
const patience = 120_000;

const denial = `DENIED: 'git push --force origin main' is not permitted.

Policy: flag '--force' is not in the allowlist for 'git push'.
Allowed flags for 'git push': --set-upstream

To request this capability, call the 'wraptool_request_capability' tool.`;

const runtimes: readonly { name: 'bubblewrap' | 'devcontainer'; parts: readonly Part[] }[] = [
  { name: 'bubblewrap', parts: ['bubblewrap'] },
  { name: 'devcontainer', parts: ['docker'] },
];

/** Claude Code is installed once for all tests, where an operator's own would be. */
async function ready(t: TestContext): Promise<Place> {
  const where = await place(t);
  where.env['XDG_CACHE_HOME'] = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  await where.writeConfig(
    `${gitConfig}up:\n  base_image: wraptool-test-base\n  network: none\n  harness_env: [ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ENABLE_TOOL_SEARCH]\n`,
  );
  Object.assign(where.env, {
    ANTHROPIC_API_KEY: 'a-key-that-opens-nothing-at-all',
    ANTHROPIC_BASE_URL: `http://${address}`,
    ENABLE_TOOL_SEARCH: 'false',
  });
  const installed = await where.wraptool(['harness', 'install', 'claude']);
  assert.equal(installed.code, 0, installed.stderr);
  return where;
}

/** Pid of some process inside the session's runtime: one in another network namespace with the relay's folder mounted. */
async function pidInside(where: Place, name: string): Promise<number> {
  const own = await readlink('/proc/self/ns/net');
  const inside = `${where.env['XDG_RUNTIME_DIR']}/wraptool/${name}/socket`;
  const { readdir } = await import('node:fs/promises');
  return until(
    `a process inside ${name}`,
    async () => {
      for (const entry of await readdir('/proc')) {
        if (!/^\d+$/.test(entry)) continue;
        try {
          const mounts = await readFile(`/proc/${entry}/mountinfo`, 'utf8');
          const here = mounts.includes(`${inside.slice(inside.indexOf('/wraptool-e2e'))} /run/wraptool `);
          if (here && (await readlink(`/proc/${entry}/ns/net`)) !== own) return Number(entry);
        } catch (error) {
          if (!['ENOENT', 'ESRCH', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? ''))
            throw error;
        }
      }
      return null;
    },
    patience,
  );
}

type Model = { readonly requests: () => Promise<Recorded[]> };

async function startModel(
  t: TestContext,
  where: Place,
  name: string,
  script: readonly Step[],
): Promise<Model> {
  const file = path.join(where.dir, 'script.json');
  const record = path.join(where.dir, 'record.jsonl');
  await writeFile(file, JSON.stringify(script));
  const pid = await pidInside(where, name);
  const child: ChildProcess = spawn(
    'nsenter',
    [
      `--net=/proc/${pid}/ns/net`,
      process.execPath,
      model,
      '--listen',
      address,
      '--script',
      file,
      '--record',
      record,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.after(() => child.kill());
  await seen(child.stdout, /ready/);
  return {
    requests: async () =>
      existsSync(record)
        ? (await readFile(record, 'utf8'))
            .split('\n')
            // After the last end of a line stands nothing, or a line that is still being written.
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Recorded)
        : [],
  };
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
