import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Duplex, Readable, Writable } from 'node:stream';
import { constants } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { WraptoolError } from '../errors.ts';
import { confinedCommand } from './command.ts';
import { inheritedDescriptors, nullDescriptor } from './descriptors.ts';
import { connectNetwork, type Network } from './network.ts';
import type { ConfinedCommand, ConfineSpec } from './types.ts';

type Slot = 'pipe' | 'inherit' | 'ignore' | number | Readable | Writable;

export type SpawnOptions = {
  /** stdin, stdout, stderr; further ones from descriptor 8 on, below are this module's own. */
  readonly stdio: 'inherit' | readonly [Slot, Slot, Slot, ...Slot[]];
  /** A process group (and session) of its own for the launcher; not with a terminal. */
  readonly detached?: boolean;
  /** Called with the launcher's pid at once, before the network is there. */
  readonly onSpawn?: (pid: number) => void;
};

export type Confined = {
  /** The launcher (bubblewrap, outside): its streams are the command's. SIGKILL to it ends everything inside. */
  readonly child: ChildProcess;
  /** The command's own code, or 128+n for signal n. Rejects with runtime_failed when the command never ran. */
  readonly exit: Promise<number>;
  /** Delivers a signal to the command inside, and to its group where it has one of its own. */
  readonly signal: (name: NodeJS.Signals) => Promise<void>;
  /** Ends everything at once; resolves when nothing is left. Idempotent. */
  readonly stop: () => Promise<void>;
};

type Status = { readonly pid: number | null; readonly code: number | null };

/**
 * Starts a confined command and its network. What it started dies with this process, by SIGKILL too, therefore only
 * the main thread may call it: the kernel counts the end of the starting thread as the end of the parent.
 * Throws confine_unavailable, workspace_refused, network_unavailable, runtime_failed.
 */
export async function spawnConfined(
  spec: ConfineSpec,
  command: readonly string[],
  options: SpawnOptions,
): Promise<Confined> {
  return spawnBuilt(confinedCommand(spec, command, { status: true }), options);
}

/** Starts what this folder has built, with a status. */
export async function spawnBuilt(built: ConfinedCommand, options: SpawnOptions): Promise<Confined> {
  if (!isMainThread)
    throw new WraptoolError('internal', 'confined processes must be started from the main thread');
  const child = spawn(built.file, built.args, {
    stdio: stdio(built, options.stdio),
    env: built.env,
    cwd: '/',
    detached: options.detached ?? false,
  });
  await started(child, built.file);
  options.onSpawn?.(child.pid!);
  for (const { fd, content } of built.fds) feed(child, fd, content);
  const status = watchStatus(child.stdio[built.statusFd!] as Readable);
  const closed = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const network = await openNetwork(child, built, closed);
  return running(child, status, closed, network);
}

function running(
  child: ChildProcess,
  status: StatusReader,
  closed: Promise<[number | null, NodeJS.Signals | null]>,
  network: Network | null,
): Confined {
  const ended = (async () => {
    const [code, signal] = await closed;
    await network?.stop();
    return { status: await status.end, code, signal };
  })();
  return {
    child,
    // Made when asked for: a failure that nobody waits for is no unhandled rejection.
    get exit() {
      return ended.then(({ status: said, code, signal }) => exitCode(said, code, signal));
    },
    signal: async (name) => signalInside((await status.started).pid, name),
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      await gone((await status.started).pid);
    },
  };
}

function exitCode(status: Status, code: number | null, signal: NodeJS.Signals | null): number {
  if (status.code !== null) return status.code;
  if (signal !== null) return 128 + constants.signals[signal];
  throw new WraptoolError('runtime_failed', `bubblewrap ended with ${String(code)} before the command ran`, {
    hint: 'its own message is on the standard error',
  });
}

function stdio(built: ConfinedCommand, given: SpawnOptions['stdio']): StdioOptions {
  const slots: Slot[] = given === 'inherit' ? ['inherit', 'inherit', 'inherit'] : [...given];
  for (const fd of [...built.fds.map((one) => one.fd), built.statusFd, built.networkFd]) {
    if (fd === undefined) continue;
    while (slots.length < fd) slots.push('ignore');
    slots[fd] = 'pipe';
  }
  for (const fd of inheritedDescriptors()) {
    while (slots.length < fd) slots.push('ignore');
    if (slots[fd] === undefined || slots[fd] === 'ignore') slots[fd] = nullDescriptor();
  }
  return slots;
}

async function started(child: ChildProcess, file: string): Promise<void> {
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new WraptoolError('runtime_failed', `'${file}' did not start`, { cause: error });
  }
}

/** A launcher that ended early closes its end: its exit code tells, not the broken pipe. */
function feed(child: ChildProcess, fd: number, content: Uint8Array): void {
  const stream = child.stdio[fd] as Writable;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
  });
  stream.end(content);
}

async function openNetwork(
  child: ChildProcess,
  built: ConfinedCommand,
  closed: Promise<unknown>,
): Promise<Network | null> {
  if (built.networkFd === undefined) return null;
  const gate = child.stdio[built.networkFd] as Duplex;
  try {
    const ready = await Promise.race([once(gate, 'data').then(() => true), closed.then(() => false)]);
    if (!ready) {
      throw new WraptoolError('network_unavailable', 'a network namespace of its own could not be made', {
        hint: "let users make namespaces (user.max_user_namespaces), or write 'network: none' or 'network: host'",
      });
    }
    const network = await connectNetwork(child.pid!);
    gate.end('go\n');
    return network;
  } catch (error) {
    child.kill('SIGKILL');
    await closed;
    throw error;
  }
}

type StatusReader = { readonly started: Promise<Status>; readonly end: Promise<Status> };

/** bubblewrap writes one JSON document per line: the pid of its first process, then the exit code of the command. */
function watchStatus(stream: Readable): StatusReader {
  let seen: Status = { pid: null, code: null };
  let rest = '';
  const { promise: startedNow, resolve } = Promise.withResolvers<Status>();
  const { promise: end, resolve: finish } = Promise.withResolvers<Status>();
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) seen = merge(seen, line);
    if (seen.pid !== null) resolve(seen);
  });
  stream.on('close', () => {
    resolve(seen);
    finish(seen);
  });
  return { started: startedNow, end };
}

function merge(seen: Status, line: string): Status {
  const said = JSON.parse(line) as { 'child-pid'?: number; 'exit-code'?: number };
  return { pid: said['child-pid'] ?? seen.pid, code: said['exit-code'] ?? seen.code };
}

/** The launcher does not wait for the sandbox when it is killed; of what is inside, the first process goes last. */
async function gone(init: number | null): Promise<void> {
  const deadline = performance.now() + 5000;
  while (init !== null && performance.now() < deadline && (await runs(init))) await setTimeout(5);
}

async function runs(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH') return false;
    throw error;
  }
}

/** bubblewrap's first process reaps; the command is its oldest child. */
async function signalInside(init: number | null, name: NodeJS.Signals): Promise<void> {
  if (init === null) return;
  try {
    const children = await readFile(`/proc/${init}/task/${init}/children`, 'utf8');
    const pid = Number(children.split(' ')[0]);
    if (!Number.isInteger(pid) || pid <= 0) return;
    process.kill((await leadsGroup(pid)) ? -pid : pid, name);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'ENOENT' && code !== 'ESRCH') throw error;
  }
}

async function leadsGroup(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const [, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(group) === pid;
}
