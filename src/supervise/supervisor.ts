/**
 * Owns a session's gateway: starts it as a process of its own, waits for its ready line, tells when it ends.
 * The gateway holds the other end of our pipe on its stdin, so that it ends when we do, however we do.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { WraptoolError } from '../errors.ts';
import { processRef, waitForEnd, signal, type ProcessRef } from './process.ts';

/** A start takes well under a second; a machine under load gets ample room. */
const readyTimeoutMs = 60_000;
const stopTimeoutMs = 3_000;

export type GatewayEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Gateway = {
  readonly ref: ProcessRef;
  /** Resolves when the process is gone, asked for or not. */
  readonly ended: Promise<GatewayEnd>;
  stop(): Promise<void>;
};

export type GatewayStart = {
  readonly name: string;
  readonly dir: string;
  readonly config: string;
  readonly token: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logFile: string;
  readonly main: string;
};

/** Starts `wraptool serve --session NAME`; resolves when it listens. Rejects with gateway_failed and the end of its log. */
export async function startGateway(start: GatewayStart): Promise<Gateway> {
  const log = await open(start.logFile, 'a', 0o600);
  try {
    const child = spawn(
      process.execPath,
      [start.main, 'serve', '--session', start.name, '--config', start.config, '--json'],
      {
        stdio: ['pipe', 'pipe', log.fd],
        // A group of its own: the terminal's Ctrl-C is the harness's, not the gateway's.
        detached: true,
        env: { ...start.env, WRAPTOOL_TOKEN: start.token, WRAPTOOL_SESSION_DIR: start.dir },
      },
    );
    const ended = new Promise<GatewayEnd>((resolve) => {
      child.once('exit', (code, name) => resolve({ code, signal: name }));
      child.once('error', () => resolve({ code: null, signal: null }));
    });
    await ready(child, ended, start);
    const ref = await processRef(child.pid ?? 0);
    if (ref === null)
      throw new WraptoolError('gateway_failed', 'the gateway ended right after it was ready', {
        hint: `see ${start.logFile}`,
      });
    return { ref, ended, stop: () => stop(child, ref) };
  } finally {
    await log.close();
  }
}

async function ready(child: ChildProcess, ended: Promise<GatewayEnd>, start: GatewayStart): Promise<void> {
  const timer = new AbortController();
  const late = new Promise<'late'>((resolve) => {
    const timeout = setTimeout(() => resolve('late'), readyTimeoutMs);
    timer.signal.addEventListener('abort', () => clearTimeout(timeout));
  });
  const line = new Promise<'ready' | WraptoolError>((resolve) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const verdict = readLine(text);
      if (verdict !== null) resolve(verdict);
    });
  });
  const first = await Promise.race([line, late, ended]);
  timer.abort();
  if (first === 'ready') return;
  child.kill('SIGKILL');
  if (first instanceof WraptoolError) throw first;
  const how =
    first === 'late'
      ? `was not ready within ${readyTimeoutMs / 1000} s`
      : `ended (${first.signal ?? `exit code ${first.code}`}) before it was ready`;
  throw new WraptoolError('gateway_failed', `the gateway ${how}`, {
    hint: `its log: ${await tail(start.logFile)}`,
  });
}

/** The gateway speaks JSON lines on stdout: its ready event, or the error that kept it from starting. */
function readLine(text: string): 'ready' | WraptoolError | null {
  const value = JSON.parse(text) as {
    event?: string;
    error?: {
      code: ConstructorParameters<typeof WraptoolError>[0];
      message: string;
      hint: string | null;
      problems?: string[];
    };
  };
  if (value.event === 'ready') return 'ready';
  if (value.error === undefined) return null;
  const { code, message, hint, problems } = value.error;
  return new WraptoolError(code, message, { hint: hint ?? undefined, problems: problems ?? [] });
}

async function tail(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, 2000);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8').trim() || `${file} is empty`;
  } finally {
    await handle.close();
  }
}

async function stop(child: ChildProcess, ref: ProcessRef): Promise<void> {
  await signal(ref, 'SIGTERM');
  if (await waitForEnd(ref, stopTimeoutMs)) return;
  await signal(ref, 'SIGKILL');
  await waitForEnd(ref, stopTimeoutMs);
  child.stdin?.destroy();
}
