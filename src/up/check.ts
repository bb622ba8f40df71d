/**
 * Proof that a client finds its gateway: the real client in its runtime, with a gateway that offers no tool of the
 * host, no key and no network, until it lists the gateway's tools with the session's token, whatever it says itself.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, open, writeFile, type FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WraptoolError } from '../errors.ts';
import type { DescriptorData } from '../harness/schema.ts';
import { sessionsDir } from '../paths.ts';
import { removeTree } from './remove-tree.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type CheckOptions = {
  readonly descriptor: DescriptorData;
  readonly runtime?: string | undefined;
  readonly version?: string | undefined;
  readonly env: Env;
  /** The command line's main file. */
  readonly main: string;
  readonly progress: (message: string) => void;
  readonly signal: AbortSignal;
  /** Finds in the gateway's own log who listed its tools. */
  readonly whoListed: (log: string) => string | null;
  readonly timeoutMs: number;
};

export type Checked = {
  /** "name/version" of the client that listed the tools, or null. */
  readonly listedBy: string | null;
  /** How the session ended by itself; null where it was ended once the proof was there, or in time. */
  readonly exitCode: number | null;
  /** The last lines of what the client and the session said. Hostile text. */
  readonly said: readonly string[];
};

const lines = 12;

/** Error: what keeps a session from starting is told in `said` with its exit code; the signal's reason. */
export async function checkClient(options: CheckOptions): Promise<Checked> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'wraptool-check-'));
  try {
    return await inside(dir, options);
  } finally {
    await removeTree(dir);
  }
}

async function inside(dir: string, options: CheckOptions): Promise<Checked> {
  const { descriptor, env, signal } = options;
  const health = descriptor.health ?? { args: [...descriptor.one_shot, 'hello'], env: {} };
  const workspace = path.join(dir, 'workspace');
  await mkdir(workspace);
  const config = path.join(dir, 'config.yaml');
  await writeFile(config, configText(dir, Object.keys(health.env)), { mode: 0o600 });
  // A folder of state for itself: nothing of this session is remembered. Its run folder is where `ps` looks.
  const ownEnv = { ...env, ...health.env, XDG_STATE_HOME: path.join(dir, 'state') };
  const name = `check-${process.pid}`;
  const child = spawn(
    process.execPath,
    [
      ...[options.main, 'up', descriptor.name, '--name', name, '--config', config, '--workspace', workspace],
      ...(options.runtime === undefined ? [] : ['--runtime', options.runtime]),
      ...(options.version === undefined ? [] : ['--harness-version', options.version]),
      ...['--', ...health.args],
    ],
    { env: ownEnv, cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const said = new Tail(options.progress);
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => said.add(text));
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const over = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const log = path.join(sessionsDir(ownEnv), name, 'gateway.log');
    const first = await Promise.race([ended, listed(log, options.whoListed, over, ended)]);
    if (typeof first === 'number') return { listedBy: null, exitCode: first, said: said.last };
    stop();
    await ended;
    signal.throwIfAborted();
    return { listedBy: first.by, exitCode: first.exitCode, said: said.last };
  } finally {
    stop();
    await ended;
    signal.removeEventListener('abort', stop);
  }
}

/** No tool of the host; the network that only reaches the gateway's socket; no key. */
function configText(dir: string, env: readonly string[]): string {
  return JSON.stringify({
    version: 1,
    requests: { log: path.join(dir, 'log') },
    up: { network: 'none', harness_env: env },
  });
}

/**
 * Reads the gateway's log until its tools were listed. The log is opened once it is there: it goes with the session,
 * and a client may be quicker than the next look.
 */
async function listed(
  file: string,
  whoListed: CheckOptions['whoListed'],
  over: AbortSignal,
  ended: Promise<number>,
): Promise<{ by: string | null; exitCode: number | null }> {
  let exitCode: number | null = null;
  void ended.then(
    (code) => (exitCode = code),
    () => (exitCode = 1),
  );
  let log: FileHandle | null = null;
  try {
    for (;;) {
      const last = exitCode !== null || over.aborted;
      log ??= await openIfThere(file);
      const by = log === null ? null : whoListed(await start(log));
      if (by !== null || last) return { by, exitCode };
      await delay(50);
    }
  } finally {
    await log?.close();
  }
}

async function openIfThere(file: string): Promise<FileHandle | null> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function start(log: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await log.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0);
  return buffer.toString('utf8', 0, bytesRead);
}

/** The last lines of two streams; what our own `up` says on the way is progress. */
class Tail {
  readonly last: string[] = [];
  readonly #progress: (message: string) => void;
  #rest = '';

  constructor(progress: (message: string) => void) {
    this.#progress = progress;
  }

  add(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = (parts.pop() ?? '').slice(-4096);
    for (const part of parts) {
      if (part.startsWith('wraptool: ')) this.#progress(part.slice('wraptool: '.length));
      else if (part.trim() !== '') this.last.push(part.slice(0, 300));
      if (this.last.length > lines) this.last.shift();
    }
  }
}

/** Error: harness_check_failed, with what was said. */
export function failed(name: string, { exitCode, said }: Checked): WraptoolError {
  const how = exitCode === null ? 'in time' : `before it ended with ${exitCode}`;
  return new WraptoolError('harness_check_failed', `"${name}" did not list the gateway's tools ${how}`, {
    problems: said,
    hint: 'the lines above are its own; `health` in the descriptor says how it is run for this',
  });
}
