/**
 * A process that lives on and is talked to over its stdio, which the spawner's helper can't give: an own group, its end
 * seen, nothing of it left behind.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { inheritedDescriptors, nullDescriptor } from '../confine/descriptors.ts';
import { WraptoolError } from '../errors.ts';
import { keeperProgram } from './keeper.ts';

export type ProcessSpec = {
  /** Real path of the program. */
  readonly file: string;
  /** What the program is told that it is called: the path as it was configured. */
  readonly argv0: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
};

export type Ended = { readonly code: number | null; readonly signal: string | null };

export type ServerProcess = {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** When nothing of it is alive and its output has been read. */
  readonly ended: Promise<Ended>;
  /** TERM to its group, or an end to all that it started. */
  signal(name: 'TERM' | 'KILL'): void;
};

const perl = '/usr/bin/perl';
const prctl: Readonly<Record<string, string>> = { x64: '157', arm64: '167' };

/** Output of a process that ended may still be in the pipe. */
const drainMs = 500;

/** Throws binary_invalid if it can't be started. `keeper: false` is how it goes where there is no Perl. */
export async function startProcess(
  spec: ProcessSpec,
  { keeper = existsSync(perl) }: { readonly keeper?: boolean } = {},
): Promise<ServerProcess> {
  const number = process.platform === 'linux' ? prctl[process.arch] : undefined;
  return number !== undefined && keeper ? await startKept(spec, number) : await startAlone(spec);
}

/** Closes its input, then TERM, then KILL. Resolves when nothing is left. */
export async function stopProcess(
  server: ServerProcess,
  { closeMs, termMs }: { readonly closeMs: number; readonly termMs: number },
): Promise<void> {
  const ended = server.ended.then(() => true);
  const within = (ms: number) => {
    const timer = new AbortController();
    const late = wait(ms, false, { signal: timer.signal });
    return Promise.race([ended, late]).finally(() => timer.abort());
  };
  server.stdin.end();
  if (await within(closeMs)) return;
  server.signal('TERM');
  if (await within(termMs)) return;
  server.signal('KILL');
  await ended;
}

async function startKept(spec: ProcessSpec, number: string): Promise<ServerProcess> {
  const child = spawn(perl, ['-e', keeperProgram, number, spec.file, spec.argv0, ...spec.args], {
    cwd: spec.cwd,
    env: {},
    detached: true,
    stdio: slots(4),
  });
  await spawned(child, spec);
  const link = child.stdio[3] as Duplex;
  link.on('error', onlyBroken);
  link.write(environmentFrame(spec.env));
  const said = readLink(link);
  const ended = whenEnded(child).then(async ({ code, signal }): Promise<Ended> => {
    const { pid, status } = await said.end;
    // The keeper was killed: what it kept is ended from here, as far as its group goes.
    if (status === null && pid !== null) killGroup(pid, 'SIGKILL');
    return status === null ? { code, signal } : decode(status);
  });
  const pid = await Promise.race([said.pid, ended.then(() => null)]);
  if (pid === null) throw new WraptoolError('binary_invalid', `the keeper of '${spec.file}' ended`);
  const signal = (name: 'TERM' | 'KILL') => void (link.writable && link.write(name[0]!));
  return { pid, ...streams(child), ended, signal };
}

async function startAlone(spec: ProcessSpec): Promise<ServerProcess> {
  const child = spawn(spec.file, spec.args, {
    argv0: spec.argv0,
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: slots(3),
  });
  await spawned(child, spec);
  const pid = child.pid!;
  child.once('exit', () => killGroup(pid, 'SIGKILL'));
  return {
    pid,
    ...streams(child),
    ended: whenEnded(child),
    signal: (name) => killGroup(pid, `SIG${name}`),
  };
}

/** Pipes, and nothing over what this process was started with beside them. */
function slots(pipes: number): StdioOptions {
  const all: (string | number)[] = Array.from({ length: pipes }, () => 'pipe');
  const inherited = process.platform === 'linux' ? inheritedDescriptors() : [];
  for (const fd of inherited) {
    while (all.length < fd) all.push('ignore');
    if (fd >= pipes) all[fd] = nullDescriptor();
  }
  return all as StdioOptions;
}

async function spawned(child: ChildProcess, { file, cwd }: ProcessSpec): Promise<void> {
  try {
    await once(child, 'spawn');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new WraptoolError('binary_invalid', `'${file}' does not start in '${cwd}' (${code})`, {
      cause: error,
    });
  }
}

function streams(child: ChildProcess): Pick<ServerProcess, 'stdin' | 'stdout' | 'stderr'> {
  return { stdin: child.stdin!, stdout: child.stdout!, stderr: child.stderr! };
}

/** A descendant that could not be ended may hold the pipes: they are not waited for without end. */
async function whenEnded(child: ChildProcess): Promise<Ended> {
  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  const late = new AbortController();
  await Promise.race([closed, wait(drainMs, undefined, { signal: late.signal })]);
  late.abort();
  for (const stream of child.stdio) stream?.destroy();
  return { code, signal };
}

function environmentFrame(env: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join('\0'),
  );
  const size = Buffer.alloc(4);
  size.writeUInt32BE(body.length);
  return Buffer.concat([size, body]);
}

function readLink(link: Duplex): {
  readonly pid: Promise<number>;
  readonly end: Promise<{ readonly pid: number | null; readonly status: number | null }>;
} {
  const started = Promise.withResolvers<number>();
  const end = Promise.withResolvers<{ pid: number | null; status: number | null }>();
  const seen: { pid: number | null; status: number | null } = { pid: null, status: null };
  let text = '';
  link.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    for (const [, word, value] of text.matchAll(/^(started|exited) (\d+)\n/gm)) {
      if (word === 'exited') seen.status = Number(value);
      else started.resolve((seen.pid = Number(value)));
    }
  });
  link.once('close', () => end.resolve(seen));
  return { pid: started.promise, end: end.promise };
}

/** As waitpid gives it. */
function decode(status: number): Ended {
  const signal = status & 0x7f;
  if (signal === 0) return { code: status >> 8, signal: null };
  const named = Object.entries(constants.signals).find(([, number]) => number === signal);
  return { code: null, signal: named?.[0] ?? String(signal) };
}

function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function onlyBroken(error: NodeJS.ErrnoException): void {
  if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED'].includes(error.code ?? '')) throw error;
}
