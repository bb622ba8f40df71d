/** A private place for one end-to-end test: HOME, config, a workspace with a repository, and the real CLI. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { main } from '../support/main.ts';

export type Result = {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type Place = {
  readonly dir: string;
  readonly home: string;
  readonly workspace: string;
  readonly config: string;
  readonly env: Record<string, string>;
  writeConfig(text: string): Promise<void>;
  wraptool(
    args: readonly string[],
    options?: { cwd?: string; env?: Record<string, string>; input?: string },
  ): Promise<Result>;
  start(args: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): ChildProcess;
  /** Every path below the place's HOME and run folder, sorted, with what may stay after a command left out. */
  files(): Promise<string[]>;
};

export const gitConfig = `version: 1
tools:
  git:
    binary: /usr/bin/git
    allow:
      - { subcommand: status, flags: [--short], read_only: true }
      - { subcommand: log, flags: [--oneline], read_only: true }
      - { subcommand: diff, flags: [--stat], read_only: true }
      - subcommand: push
        flags: [--set-upstream]
        flag_constraints: { --set-upstream: { short: -u, value: none } }
        args: [{ enum: [origin] }, { pattern: '[A-Za-z0-9][A-Za-z0-9._/-]{0,99}' }]
`;

export async function place(t: TestContext): Promise<Place> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wraptool-e2e-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const home = path.join(dir, 'home');
  const workspace = path.join(dir, 'src', 'app');
  const run = path.join(dir, 'run');
  await mkdir(path.join(home, '.config', 'wraptool'), { recursive: true });
  await mkdir(workspace, { recursive: true });
  await mkdir(run, { mode: 0o700 });
  const config = path.join(home, '.config', 'wraptool', 'config.yaml');
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: home,
    XDG_RUNTIME_DIR: run,
    TERM: 'xterm-256color',
  };
  await git(workspace, env, 'init', '-q', '-b', 'main');
  await writeFile(path.join(workspace, 'README.md'), 'hello\n');
  await git(workspace, env, 'add', '-A');
  await git(workspace, env, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-qm', 'first');
  const start: Place['start'] = (args, options = {}) =>
    spawn(process.execPath, [main, ...args], {
      cwd: options.cwd ?? workspace,
      env: { ...env, ...options.env },
      stdio: 'pipe',
    });
  return {
    dir,
    home,
    workspace,
    config,
    env,
    start,
    writeConfig: (text) => writeFile(config, text, { mode: 0o600 }),
    wraptool: (args, options = {}) => finish(start(args, options), options.input ?? ''),
    files: async () => (await Promise.all([home, run].map(listing))).flat().sort(),
  };
}

async function git(cwd: string, env: Record<string, string>, ...args: string[]): Promise<void> {
  await promisify(execFile)('git', args, { cwd, env });
}

async function listing(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true });
  const mayStay = /^home\/\.cache(?:\/wraptool(?:\/compile(?:\/.*)?)?)?$/;
  return entries.map((entry) => path.join(path.basename(dir), entry)).filter((entry) => !mayStay.test(entry));
}

/** Waits for a child, collecting what it says. */
export function finish(child: ChildProcess, input: string): Promise<Result> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin?.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}

/** Resolves with the text so far once `pattern` is seen on the stream; rejects when the stream ends without it. */
export function seen(stream: NodeJS.ReadableStream | null, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    stream?.setEncoding('utf8');
    stream?.on('data', (piece: string) => {
      text += piece;
      if (pattern.test(text)) resolve(text);
    });
    stream?.on('end', () => reject(new Error(`the stream ended without ${String(pattern)}: ${text}`)));
  });
}

/** Polls a condition that has no event of its own; rejects after `timeoutMs`. */
export async function until(what: string, holds: () => Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
