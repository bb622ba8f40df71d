/**
 * The helper process: starts what the gateway asks for on descriptor 3, and ends all of it when that closes. It stays
 * small, because each start forks it.
 */
import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { inheritedDescriptors, nullDescriptor } from '../confine/descriptors.ts';
import { spawnConfined } from '../confine/spawn.ts';
import { WraptoolError } from '../errors.ts';
import { encodeFrame, type Frame, FrameReader, type Kind, kinds } from './frames.ts';
import { kill, Reaper } from './reaper.ts';
import type { SpawnRequest } from './spawner.ts';

type Request = SpawnRequest & { readonly stdin: boolean };
type Early = { signal: NodeJS.Signals | null; launcher: number | null };
type Started = {
  readonly child: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  signal(name: NodeJS.Signals): void;
};

/** How long output may still come after the end of the command, from something that could not be ended yet. */
const drainMs = 250;
const wornAt = 256;

const link = new Socket({ fd: 3 });
const reaper = new Reaper(process.argv.includes('reaps'));
const running = new Map<number, Started>();
/** Calls whose process is still being made: a signal that came for it, and the pid of what makes it. */
const starting = new Map<number, Early>();
const sources = new Set<Readable>();
let worn = false;

const reader = new FrameReader();
link.on('data', (chunk: Buffer) => {
  for (const frame of reader.push(chunk)) receive(frame);
});
link.on('drain', () => {
  for (const source of sources) source.resume();
});
// The gateway is done, or gone: everything that it started goes too.
link.on('end', () => void shutDown());
link.on('error', () => void shutDown());
process.on('SIGTERM', () => void shutDown());

async function shutDown(): Promise<void> {
  await reaper.finishAll();
  process.exit(0);
}

function receive({ kind, call, body }: Frame): void {
  if (kind === kinds.signal) return deliver(call, body.toString() as NodeJS.Signals);
  const end = body.indexOf(0x0a);
  const request = JSON.parse(body.subarray(0, end).toString()) as Request;
  run(call, request, request.stdin ? body.subarray(end + 1) : null).catch((error: unknown) =>
    fail(call, error),
  );
}

function deliver(call: number, name: NodeJS.Signals): void {
  running.get(call)?.signal(name);
  const early = starting.get(call);
  if (early === undefined) return;
  early.signal = name;
  if (name === 'SIGKILL' && early.launcher !== null) kill(early.launcher);
}

async function run(call: number, request: Request, stdin: Buffer | null): Promise<void> {
  const early: Early = { signal: null, launcher: null };
  starting.set(call, early);
  let started: Started;
  try {
    started =
      request.kind === 'host' ? await startHost(request, stdin) : await startConfined(request, stdin, early);
  } finally {
    starting.delete(call);
  }
  running.set(call, started);
  send(kinds.started, call, String(started.child.pid));
  if (stdin !== null) giveInput(started.child.stdin!, stdin);
  if (early.signal !== null) started.signal(early.signal);
  try {
    await follow(call, started);
  } finally {
    running.delete(call);
  }
}

/** Said before the call's end: the next one goes to another helper. */
function sayIfWorn(): void {
  if (reaper.dead < wornAt || worn) return;
  worn = true;
  send(kinds.worn, 0);
}

async function follow(call: number, { child, exit }: Started): Promise<void> {
  const streams = [child.stdout!, child.stderr!];
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8', Math.max(0, chunk.length - 500))).slice(-500);
  });
  const drained = Promise.all([
    forward(call, kinds.stdout, child.stdout!),
    forward(call, kinds.stderr, child.stderr!),
  ]);
  try {
    const ended = await exit.finally(() => reaper.finish(child.pid!)).finally(sayIfWorn);
    await Promise.race([drained, wait(drainMs)]);
    send(kinds.exited, call, JSON.stringify(ended));
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    await Promise.race([drained, wait(drainMs)]);
    // What bubblewrap said is the reason; our own message only says that it failed.
    const reason = said.trim().split('\n').at(-1);
    throw new WraptoolError(error.code, reason ? `${error.message}: ${reason}` : error.message, {
      hint: error.hint,
    });
  } finally {
    for (const stream of streams) {
      stream.destroy();
      sources.delete(stream);
    }
  }
}

async function startHost(
  request: Extract<Request, { kind: 'host' }>,
  stdin: Buffer | null,
): Promise<Started> {
  const child = spawn(request.file, request.args, {
    cwd: request.cwd,
    env: request.env,
    detached: true,
    stdio: hostStdio(stdin !== null),
  });
  const exit = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
  }));
  await Promise.race([once(child, 'spawn'), exit]);
  reaper.add(child.pid!);
  return { child, exit, signal: (name) => kill(-child.pid!, name) };
}

function hostStdio(stdin: boolean): StdioOptions {
  const slots: (string | number)[] = [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'];
  for (const fd of inheritedDescriptors()) {
    while (slots.length < fd) slots.push('ignore');
    slots[fd] = nullDescriptor();
  }
  return slots as StdioOptions;
}

async function startConfined(
  request: Extract<Request, { kind: 'confined' }>,
  stdin: Buffer | null,
  early: Early,
): Promise<Started> {
  try {
    const confined = await spawnConfined(request.spec, request.command, {
      stdio: [stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
      onSpawn: (launcher) => {
        early.launcher = launcher;
        reaper.add(launcher);
      },
    });
    const { child } = confined;
    return {
      child,
      exit: confined.exit.then((code) => ({ code, signal: null })),
      signal: (name) => {
        if (name === 'SIGKILL') kill(child.pid!);
        else confined.signal(name).catch((error: unknown) => process.emitWarning(String(error)));
      },
    };
  } catch (error) {
    if (early.launcher !== null) await reaper.finish(early.launcher);
    throw error;
  }
}

/** A command need not read its input. */
function giveInput(stream: Writable, bytes: Buffer): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
  });
  stream.end(bytes);
}

async function forward(call: number, kind: Kind, stream: Readable): Promise<void> {
  sources.add(stream);
  stream.on('data', (chunk: Buffer) => send(kind, call, chunk));
  await once(stream, 'close');
}

function send(kind: Kind, call: number, body: Uint8Array | string = ''): void {
  if (link.write(encodeFrame(kind, call, body))) return;
  for (const source of sources) source.pause();
}

function fail(call: number, error: unknown): void {
  const { code, message, path } = error as NodeJS.ErrnoException;
  const said =
    error instanceof WraptoolError
      ? { error: code, message, hint: error.hint }
      : {
          error: 'binary_invalid',
          message: `'${path ?? 'a program'}' could not be started (${code ?? message})`,
        };
  send(kinds.failed, call, JSON.stringify(said));
}
