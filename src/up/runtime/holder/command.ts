/** One command inside, on the holder's own streams or on frames. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import type { Start } from './frames.ts';
import { openPipes, type Pipes } from './pipes.ts';

export type Sink = {
  /** False when the socket wants a pause. */
  send(kind: 'output' | 'errors' | 'taken', bytes: Uint8Array | string): boolean;
  drained(resume: () => void): void;
  ended(code: number): void;
};

/** How long the rest of the output may take after the command's end; something else may hold its other end open. */
const restMs = 500;

export class Command {
  readonly #child: ChildProcess;
  readonly #pipes: Pipes;
  readonly #sink: Sink;
  readonly #errorsFd: number;
  readonly #detached: boolean;

  constructor(start: Start, errorsFd: number, sink: Sink) {
    this.#sink = sink;
    this.#errorsFd = errorsFd;
    this.#detached = start.detached;
    const [file, ...args] = start.command;
    this.#pipes = openPipes(start.stdio, errorsFd);
    this.#child = spawn(file!, args, {
      cwd: start.cwd,
      env: { ...start.env },
      stdio: this.#pipes.stdio,
      detached: start.detached,
    });
    this.#pipes.handedOver();
    this.#child.on('error', (error: NodeJS.ErrnoException) => this.#unstarted(start, error));
    this.#child.on('exit', (code, signal) => void this.#exited(code ?? 128 + constants.signals[signal!]));
    this.#pipes.stdin?.on('error', (error: NodeJS.ErrnoException) => this.#inputLost(error));
    this.#forward(this.#pipes.stdout, 'output');
    this.#forward(this.#pipes.stderr, 'errors');
  }

  input(bytes: Uint8Array): void {
    const { stdin } = this.#pipes;
    if (stdin?.writable !== true) this.#sink.send('taken', String(bytes.length));
    else stdin.write(bytes, () => this.#sink.send('taken', String(bytes.length)));
  }

  inputEnd(): void {
    this.#pipes.stdin?.end();
  }

  /** To the command's group; a group that is gone needs none. */
  signal(name: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    for (const target of this.#detached ? [-pid] : terminalGroup()) {
      try {
        process.kill(target, name);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  #forward(stream: Readable | null, kind: 'output' | 'errors'): void {
    stream?.on('data', (bytes: Buffer) => {
      if (this.#sink.send(kind, bytes)) return;
      stream.pause();
      this.#sink.drained(() => stream.resume());
    });
  }

  /** A program that does not read its input is no failure. */
  #inputLost(error: NodeJS.ErrnoException): void {
    if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
  }

  #unstarted(start: Start, error: NodeJS.ErrnoException): void {
    const said = `${start.command[0]}: ${error.code === 'ENOENT' ? 'not found' : error.message}\n`;
    if (start.stdio[2] === 'pipe') this.#sink.send('errors', said);
    else writeSync(this.#errorsFd, said);
    this.#sink.ended(error.code === 'ENOENT' ? 127 : 126);
  }

  async #exited(code: number): Promise<void> {
    const streams = [this.#pipes.stdout, this.#pipes.stderr].filter((stream) => stream !== null);
    let seen = -1;
    const moved = (): number => streams.reduce((sum, stream) => sum + bytesRead(stream), 0);
    while (
      streams.some((stream) => !stream.closed) &&
      (streams.some((stream) => stream.isPaused()) || seen !== moved())
    ) {
      seen = moved();
      const closed = Promise.all(streams.map(closing));
      await Promise.race([closed, new Promise((done) => setTimeout(done, restMs))]);
    }
    for (const stream of streams) stream.destroy();
    this.#sink.ended(code);
  }
}

async function closing(stream: Readable): Promise<void> {
  if (!stream.closed) await once(stream, 'close');
}

function bytesRead(stream: Readable): number {
  return (stream as Readable & { bytesRead: number }).bytesRead;
}

/**
 * The other processes of this one's group. It reaches out of the sandbox to the operator's shell job, therefore it is
 * never signalled as a whole: only what is visible inside.
 */
function terminalGroup(): readonly number[] {
  const own = groupOf(process.pid);
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1 && pid !== process.pid && groupOf(pid) === own);
}

/** Field 5 of /proc/PID/stat, or null for a process that has gone. */
function groupOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] ?? null;
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
