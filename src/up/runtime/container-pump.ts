/** Moves the bytes of one command in a container between the engine's stream and the given ones. */
import { demultiplex } from './docker-stream.ts';
import type { EngineExec } from './docker.ts';
import { write } from './write.ts';

export type Streams = {
  readonly stdin: NodeJS.ReadableStream | null;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
};

/** How long the rest of the output may take to come after the command's end; something else may hold its other end open. */
const restMs = 500;

export class Pump {
  /** Process id inside, from the first line that the command's starter says; 0 if it said none. */
  readonly pid: Promise<number>;
  /** Resolves when the stream has ended. */
  readonly #done: Promise<void>;
  readonly #exec: EngineExec;
  readonly #streams: Streams;
  readonly #pid = Promise.withResolvers<number>();
  readonly #tty: boolean;
  #head: Buffer | null = Buffer.alloc(0);
  #writing = false;
  #moved = 0;

  constructor(exec: EngineExec, tty: boolean, streams: Streams) {
    this.#exec = exec;
    this.#streams = streams;
    this.#tty = tty;
    this.pid = this.#pid.promise;
    this.#done = this.#run().finally(() => this.#pid.resolve(0));
  }

  /** After the command's end: waits until its output has been passed on, then lets go of every stream. */
  async settle(): Promise<void> {
    let seen = -1;
    while (!(await within(this.#done, restMs)) && (this.#writing || seen !== this.#moved)) seen = this.#moved;
    this.letGo();
    await this.#done;
  }

  /** The given streams are the caller's again. */
  letGo(): void {
    const { stdin } = this.#streams;
    stdin?.unpipe(this.#exec.stream);
    stdin?.pause();
    this.#exec.stream.destroy();
  }

  async #run(): Promise<void> {
    const { stream } = this.#exec;
    const out = (bytes: Buffer): Promise<void> => this.#out(bytes);
    try {
      if (!this.#tty)
        return await demultiplex(stream, out, (bytes) => this.#write(this.#streams.stderr, bytes));
      for await (const bytes of stream as AsyncIterable<Buffer>) await out(bytes);
    } catch (error) {
      // The engine resets the connection of a command that it killed; whether all is well the exit code tells.
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (!['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code)) throw error;
    }
  }

  async #out(bytes: Buffer): Promise<void> {
    if (this.#head === null) return this.#write(this.#streams.stdout, bytes);
    this.#head = Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf(10);
    if (end < 0) return;
    const head = this.#head;
    this.#head = null;
    const line = /^(\d+)\r?$/.exec(head.toString('latin1', 0, end));
    this.#pid.resolve(Number(line?.[1] ?? 0));
    this.#feed();
    // Not a number: the engine itself says why nothing was started.
    await (line === null
      ? this.#write(this.#streams.stderr, head)
      : this.#write(this.#streams.stdout, head.subarray(end + 1)));
  }

  #feed(): void {
    const { stdin } = this.#streams;
    // The engine takes the end of a terminal's input for the end of the terminal, output and all.
    if (stdin === null && !this.#tty) this.#exec.stream.end();
    else stdin?.pipe(this.#exec.stream);
  }

  async #write(to: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#writing = true;
    await write(to, bytes);
    this.#writing = false;
    this.#moved += bytes.length;
  }
}

/** Leaves no timer behind: it would hold the process after all else is done. */
async function within(done: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([done.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
