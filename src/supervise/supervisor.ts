/**
 * Owns a session's gateway: starts it as a process of its own, waits for its ready line, tells when it ends.
 * The gateway holds the other end of our pipe on its stdin, so that it ends when we do, however we do.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { WraptoolError } from '../errors.ts';
import { kindOf, type EndKind, type GatewayEnd } from './end.ts';
import { memoryKills } from './memory-kills.ts';
import { Orders, type Line, type Order } from './orders.ts';
import { processRef, waitForEnd, signal, type ProcessRef } from './process.ts';

/** A start takes well under a second; a machine under load gets ample room. */
const readyTimeoutMs = 60_000;
const stopTimeoutMs = 3_000;

export type Gateway = {
  readonly ref: ProcessRef;
  /** sha256 (hex) of the config that it started with. */
  readonly config: string;
  /** The socket that it listens on. */
  readonly socket: string;
  /** Resolves when the process is gone, asked for or not. */
  readonly ended: Promise<GatewayEnd>;
  /** How it ended, as far as it can be told apart. */
  readonly judged: Promise<EndKind>;
  /** See gateway/supervised.ts. Rejects with gateway_failed where it ended first. */
  give(order: Order): Promise<Line>;
  /** As `give`, for what may take long: rejects with gateway_failed, too, once the gateway answers nothing else either. */
  giveSlow(order: Order): Promise<Line>;
  /** Another one has its address: it answers what it has, and ends. Resolves when it is gone. Rejects as `giveSlow`. */
  leave(): Promise<void>;
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
  /** Where it listens. */
  readonly socket: string;
  /** Aborted: it is ended if it is not ready yet. */
  readonly signal?: AbortSignal;
  /** Told of one that ended before it was given out: it has no other way to tell. */
  readonly ended?: (pid: number, kind: EndKind, end: GatewayEnd) => Promise<void>;
};

/** Starts `wraptool serve --session NAME`; resolves when it listens. Rejects with gateway_failed and the end of its log. */
export async function startGateway(start: GatewayStart): Promise<Gateway> {
  if (start.signal?.aborted === true) throw calledOff();
  const log = await open(start.logFile, 'a', 0o600);
  try {
    const words = ['--session', start.name, '--config', start.config, '--supervised', start.socket];
    const child = spawn(process.execPath, [start.main, 'serve', ...words, '--json'], {
      stdio: ['pipe', 'pipe', log.fd],
      // A group of its own: the terminal's Ctrl-C is the harness's, not the gateway's.
      detached: true,
      env: { ...start.env, WRAPTOOL_TOKEN: start.token, WRAPTOOL_SESSION_DIR: start.dir },
    });
    const first = Promise.withResolvers<string | WraptoolError>();
    let cause: string | null = null;
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) throw new WraptoolError('internal', 'the gateway has no pipes');
    const orders = new Orders(stdin, stdout, (line) => {
      const verdict = readLine(line);
      if (verdict !== null) first.resolve(verdict);
      if (line['event'] === 'ending') cause = String(line['cause']);
    });
    const ended = new Promise<GatewayEnd>((resolve) => {
      // After the last of what it said.
      child.once('close', (code, signal) => resolve({ code, signal, cause }));
      child.once('error', () => resolve({ code: null, signal: null, cause: null }));
    });
    const memory = watchMemory(child.pid ?? 0, ended);
    let asked = false;
    const judged = ended.then(async (end) => kindOf(end, { asked, memoryKills: await memory() }));
    let config: string;
    let ref: ProcessRef;
    try {
      config = await ready(child, first.promise, ended, start, () => (asked = true));
      ref = await running(child, start);
    } catch (error) {
      const pid = child.pid;
      if (pid !== undefined) await start.ended?.(pid, await judged, await ended);
      throw error;
    }
    const giveSlow = (order: Order): Promise<Line> => whileAlive(orders, orders.give(order));
    return {
      ref,
      config,
      socket: start.socket,
      ended,
      judged,
      give: (order) => inTime(orders.give(order)),
      giveSlow,
      leave: async () => {
        await giveSlow({ do: 'leave' });
        asked = true;
        await ended;
      },
      stop: () => {
        asked = true;
        return stop(child, ref);
      },
    };
  } finally {
    await log.close();
  }
}

/** What a gateway may take for an answer that costs it nothing; a busy machine gets ample room. */
const answerMs = 10_000;

/** Rejects with gateway_failed where the answer does not come in time. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(hung()), answerMs);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits as long as the gateway answers other orders meanwhile. */
async function whileAlive<T>(orders: Orders, answer: Promise<T>): Promise<T> {
  const stuck = Promise.withResolvers<never>();
  const ask = (): void =>
    void inTime(orders.give({ do: 'status' })).then(() => timer.refresh(), stuck.reject);
  const timer = setTimeout(ask, answerMs / 4);
  try {
    return await Promise.race([answer, stuck.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function hung(): WraptoolError {
  return new WraptoolError('gateway_failed', `the gateway did not answer within ${answerMs / 1000} s`, {
    hint: "read its log in the session's folder",
  });
}

const lookEveryMs = 5_000;

/** Looks now and then, so that what the kernel did long before is not taken for the reason of an end. */
function watchMemory(pid: number, ended: Promise<unknown>): () => Promise<number> {
  // The last look but one: one that falls between the kill and its being told must not hide it.
  let before: Promise<number | null> = memoryKills(pid);
  let last = before;
  const timer = setInterval(() => {
    before = last;
    last = memoryKills(pid);
  }, lookEveryMs).unref();
  void ended.then(() => clearInterval(timer));
  return async () => {
    // The process is gone: its group is ours.
    const [then, now] = [await before, await memoryKills(process.pid)];
    return then === null || now === null ? 0 : Math.max(0, now - then);
  };
}

async function running(child: ChildProcess, start: GatewayStart): Promise<ProcessRef> {
  const ref = await processRef(child.pid ?? 0);
  if (ref !== null) return ref;
  throw new WraptoolError('gateway_failed', 'the gateway ended right after it was ready', {
    hint: `see ${start.logFile}`,
  });
}

function calledOff(): WraptoolError {
  return new WraptoolError('gateway_failed', 'the session ended before its gateway was ready');
}

/** The hash of the config that it serves. `ending`: before it is ended by us. */
async function ready(
  child: ChildProcess,
  said: Promise<string | WraptoolError>,
  ended: Promise<GatewayEnd>,
  start: GatewayStart,
  ending: () => void,
): Promise<string> {
  const timer = new AbortController();
  const late = new Promise<'late'>((resolve) => {
    const timeout = setTimeout(() => resolve('late'), readyTimeoutMs);
    timer.signal.addEventListener('abort', () => clearTimeout(timeout));
  });
  const off = new Promise<'off'>((resolve) =>
    start.signal?.addEventListener('abort', () => resolve('off'), { signal: timer.signal }),
  );
  const first = await Promise.race([said.then((verdict) => ({ verdict })), late, off, ended]);
  timer.abort();
  if (first === 'off') {
    ending();
    const ref = await processRef(child.pid ?? 0);
    if (ref !== null) await stop(child, ref);
    throw calledOff();
  }
  if (first !== 'late' && 'verdict' in first && typeof first.verdict === 'string') return first.verdict;
  // One that has ended is not asked to.
  if (first === 'late' || 'verdict' in first) ending();
  child.kill('SIGKILL');
  if (first !== 'late' && 'verdict' in first) throw first.verdict;
  const how =
    first === 'late'
      ? `was not ready within ${readyTimeoutMs / 1000} s`
      : `ended (${first.signal ?? `exit code ${first.code}`}) before it was ready`;
  throw new WraptoolError('gateway_failed', `the gateway ${how}`, {
    hint: `its log: ${await tail(start.logFile)}`,
  });
}

/** Of its ready event the config's hash; of an error that kept it from starting, that. */
function readLine(line: Line): string | WraptoolError | null {
  const value = line as {
    event?: string;
    config?: string;
    error?: {
      code: ConstructorParameters<typeof WraptoolError>[0];
      message: string;
      hint: string | null;
      problems?: string[];
    };
  };
  if (value.event === 'ready') return value.config ?? '';
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
