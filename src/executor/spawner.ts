import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import type { Duplex } from 'node:stream';
import type { ConfineSpec } from '../confine/types.ts';
import { type ErrorCode, errorCodes, WraptoolError } from '../errors.ts';
import { programPlace } from '../places.ts';
import { encodeFrame, type Frame, FrameReader, kinds } from './frames.ts';

/** What to start. Keep this module light: the spawner is forked before anything heavy is loaded. */
export type SpawnRequest =
  | {
      readonly kind: 'host';
      readonly file: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** `/proc/PID/fd/N` of an opened folder, or a folder of the operator's. */
      readonly cwd: string;
    }
  | { readonly kind: 'confined'; readonly spec: ConfineSpec; readonly command: readonly string[] };

export type Sinks = { stdout(chunk: Buffer): void; stderr(chunk: Buffer): void };

export type Ended = { readonly code: number | null; readonly signal: string | null };

export type Running = {
  /**
   * After the last output; nothing of the call is alive then. Rejects with binary_invalid when it can't be executed,
   * and with what spawnConfined throws.
   */
  readonly exit: Promise<Ended>;
  /** To the whole process group, also before it is there. SIGKILL to a confined one ends its sandbox. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
};

export interface Spawner {
  /** `stdin` null: empty. */
  start(request: SpawnRequest, stdin: Uint8Array | null, sinks: Sinks): Running;
  /** Ends every child and the helper process. */
  close(): Promise<void>;
}

/** Forks the helper process: call it first thing, because a fork copies the whole address space. */
export function startSpawner(): Spawner {
  let current = new Helper();
  const all = new Set([current]);
  let closed = false;
  return {
    start: (request, stdin, sinks) => {
      if (closed) throw new WraptoolError('internal', 'the executor is closed');
      if (!current.usable) {
        current.retire();
        current = new Helper();
        for (const helper of all) if (helper.gone) all.delete(helper);
        all.add(current);
      }
      return current.start(request, stdin, sinks);
    },
    close: async () => {
      closed = true;
      await Promise.all([...all].map((helper) => helper.close()));
    },
  };
}

type Call = {
  readonly sinks: Sinks;
  readonly exit: PromiseWithResolvers<Ended>;
  pid: number | null;
};

/**
 * A subreaper gets every orphan below it as a child of its own, so that nothing escapes by setsid and a double fork.
 * Node can't ask for it, and it survives an exec.
 */
const subreaper =
  'my $r = syscall(shift, 36, 1, 0, 0, 0); push @ARGV, $r == 0 ? "reaps" : "no"; exec { $ARGV[0] } @ARGV';
const prctl: Readonly<Record<string, string>> = { x64: '157', arm64: '167' };
const perl = '/usr/bin/perl';

class Helper {
  readonly #child: ChildProcess;
  readonly #link: Duplex;
  readonly #calls = new Map<number, Call>();
  readonly #ended: Promise<unknown>;
  #lastCall = 0;
  #worn = false;
  #retired = false;
  gone = false;

  constructor() {
    const file = programPlace('executor/spawner-child');
    const number = prctl[process.arch];
    const command = number !== undefined && isExecutable(perl) ? [perl, '-e', subreaper, number] : [];
    command.push(process.execPath, file);
    this.#child = spawn(command[0]!, command.slice(1), {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
      // Not in the terminal's group: Ctrl-C is for the gateway, which decides.
      detached: true,
    });
    this.#link = this.#child.stdio[3] as Duplex;
    const reader = new FrameReader();
    this.#link.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) this.#receive(frame);
    });
    // Its end says it; a broken pipe adds nothing.
    this.#link.on('error', (error) => this.#lose(error));
    this.#child.on('error', (error) => this.#lose(error));
    this.#ended = once(this.#child, 'close').then(() => this.#lose(null));
  }

  get usable(): boolean {
    return !this.gone && !this.#worn;
  }

  start(request: SpawnRequest, stdin: Uint8Array | null, sinks: Sinks): Running {
    const id = ++this.#lastCall;
    const call: Call = { sinks, exit: Promise.withResolvers<Ended>(), pid: null };
    this.#calls.set(id, call);
    const head = Buffer.from(`${JSON.stringify({ ...request, stdin: stdin !== null })}\n`);
    this.#link.write(encodeFrame(kinds.start, id, Buffer.concat([head, stdin ?? Buffer.alloc(0)])));
    return {
      exit: call.exit.promise,
      kill: (signal) => {
        if (this.#calls.has(id)) this.#link.write(encodeFrame(kinds.signal, id, signal));
      },
    };
  }

  /** No new calls; ends when the last one has. */
  retire(): void {
    this.#retired = true;
    if (this.#calls.size === 0) this.#link.end();
  }

  async close(): Promise<void> {
    this.#link.end();
    await this.#ended;
  }

  #receive({ kind, call: id, body }: Frame): void {
    const call = this.#calls.get(id);
    if (kind === kinds.worn) this.#worn = true;
    else if (call === undefined) return;
    else if (kind === kinds.started) call.pid = Number(body.toString());
    else if (kind === kinds.stdout || kind === kinds.stderr) this.#output(id, call, kind, body);
    else this.#finished(id, call, kind, body);
  }

  /** A fault in what takes the output is that call's, not the process's. */
  #output(id: number, call: Call, kind: number, body: Buffer): void {
    try {
      if (kind === kinds.stdout) call.sinks.stdout(body);
      else call.sinks.stderr(body);
    } catch (error) {
      this.#link.write(encodeFrame(kinds.signal, id, 'SIGKILL'));
      this.#calls.delete(id);
      call.exit.reject(error);
    }
  }

  #finished(id: number, call: Call, kind: number, body: Buffer): void {
    this.#calls.delete(id);
    const said = JSON.parse(body.toString()) as Ended & { error: string; message: string; hint?: string };
    if (kind === kinds.exited) call.exit.resolve({ code: said.code, signal: said.signal });
    else call.exit.reject(new WraptoolError(knownCode(said.error), said.message, { hint: said.hint }));
    if (this.#retired && this.#calls.size === 0) this.#link.end();
  }

  /** The helper died: what it had started must not outlive it. */
  #lose(cause: Error | null): void {
    if (this.gone) return;
    this.gone = true;
    for (const call of this.#calls.values()) {
      if (call.pid !== null) killGroup(call.pid);
      call.exit.reject(new WraptoolError('internal', 'the helper that starts programs ended', { cause }));
    }
    this.#calls.clear();
  }
}

function knownCode(code: string): ErrorCode {
  return code in errorCodes ? (code as ErrorCode) : 'internal';
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') return false;
    throw error;
  }
}
