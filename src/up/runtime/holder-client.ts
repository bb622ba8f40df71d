/** Our side of the holder's socket. What comes from it may be hostile: it ends up in streams and exit codes only. */
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';
import { WraptoolError } from '../../errors.ts';
import {
  frame,
  FrameReader,
  kinds,
  type Folder,
  type Frame,
  type Kind,
  type Start,
} from './holder/frames.ts';
import type { Executing, Stdio } from './runtime.ts';
import { write } from './write.ts';

/** undefined: the command has the holder's own in its place, a terminal. */
type Streams = {
  readonly [Name in keyof Exclude<Stdio, 'inherit'>]: Exclude<Stdio, 'inherit'>[Name] | undefined;
};
type Command = {
  readonly streams: Streams;
  readonly end: PromiseWithResolvers<number>;
  /** Bytes of stdin that are on their way. */
  flying: number;
  landed: () => void;
};

const flightLimit = 256 * 1024;
const pieceSize = 64 * 1024;

export class HolderClient {
  readonly #socket: Duplex;
  readonly #what: string;
  readonly #reader = new FrameReader();
  readonly #commands = new Map<number, Command>();
  readonly #verdicts = new Map<number, PromiseWithResolvers<string | null>>();
  /** When all that the other end sent has been dealt with, and there is no more. */
  readonly read: Promise<void>;
  #last = 0;
  #fate: 'lives' | 'ending' | WraptoolError = 'lives';

  /** `what` is at the other end, as an error names it. */
  constructor(socket: Duplex, what = 'the sandbox') {
    this.#socket = socket;
    this.#what = what;
    // The end of the sandbox is told by its process; the socket only breaks with it.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') this.over(error);
    });
    this.read = this.#read().catch((error: unknown) => this.over(error));
  }

  /** From here on the end of the sandbox is wanted: commands end with 128+9 and not with an error. */
  expectEnd(): void {
    if (this.#fate === 'lives') this.#fate = 'ending';
  }

  /** Nothing runs in the sandbox any more. */
  over(cause: unknown): void {
    const wanted = this.#fate !== 'lives';
    const fate = new WraptoolError('runtime_failed', `${this.#what} ended while a command ran in it`, {
      cause,
    });
    if (!wanted) this.#fate = fate;
    for (const { end } of this.#commands.values()) {
      if (wanted) end.resolve(128 + constants.signals.SIGKILL);
      else end.reject(fate);
    }
    for (const verdict of this.#verdicts.values()) verdict.reject(fate);
    this.#commands.clear();
    this.#socket.destroy();
  }

  /** Path of the first folder inside that is not the one that was judged, or null. */
  async verify(folders: readonly Folder[]): Promise<string | null> {
    const id = ++this.#last;
    const verdict = Promise.withResolvers<string | null>();
    this.#verdicts.set(id, verdict);
    this.#send(kinds.verify, id, JSON.stringify(folders));
    return verdict.promise;
  }

  start(start: Omit<Start, 'stdio'>, streams: Streams): Executing {
    if (typeof this.#fate === 'object') throw this.#fate;
    const id = ++this.#last;
    const command: Command = { streams, end: Promise.withResolvers(), flying: 0, landed: () => undefined };
    this.#commands.set(id, command);
    const slot = (stream: unknown) => (stream === undefined ? 'inherit' : 'pipe');
    const stdio: Start['stdio'] = [slot(streams.stdin), slot(streams.stdout), slot(streams.stderr)];
    this.#send(kinds.start, id, JSON.stringify({ ...start, stdio }));
    const stopFeeding =
      streams.stdin === undefined ? () => undefined : this.#feed(id, command, streams.stdin);
    return {
      exit: command.end.promise.finally(stopFeeding),
      kill: async (name) => this.#send(kinds.signal, id, name),
      resize: async (size) => this.#send(kinds.resize, id, JSON.stringify(size)),
    };
  }

  #send(kind: Kind, id: number, bytes: Uint8Array | string = ''): void {
    if (!this.#socket.destroyed) this.#socket.write(frame(kind, id, bytes));
  }

  /** Passes stdin on, no more than the command takes; gives back how to let go of it. */
  #feed(id: number, command: Command, stdin: NodeJS.ReadableStream | null): () => void {
    if (stdin === null) {
      this.#send(kinds.inputEnd, id);
      return () => undefined;
    }
    const take = (chunk: Buffer | string): void => {
      const bytes = Buffer.from(chunk);
      command.flying += bytes.length;
      for (let at = 0; at < bytes.length; at += pieceSize)
        this.#send(kinds.input, id, bytes.subarray(at, at + pieceSize));
      if (command.flying > flightLimit) stdin.pause();
    };
    const end = (): void => this.#send(kinds.inputEnd, id);
    command.landed = () => void (command.flying <= flightLimit && stdin.resume());
    stdin.on('data', take).on('end', end);
    return () => {
      command.landed = () => undefined;
      stdin.off('data', take).off('end', end).pause();
    };
  }

  async #read(): Promise<void> {
    for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
      for (const one of this.#reader.push(chunk)) await this.#handle(one);
    }
  }

  async #handle({ kind, id, bytes }: Frame): Promise<void> {
    const command = this.#commands.get(id);
    if (kind === kinds.verify) this.#verdicts.get(id)?.resolve(text(JSON.parse(bytes.toString()), 'bad'));
    else if (command === undefined) return;
    else if (kind === kinds.output) await forward(command.streams.stdout, bytes);
    else if (kind === kinds.errors) await forward(command.streams.stderr, bytes);
    else if (kind === kinds.taken) {
      command.flying -= Math.min(command.flying, Number(bytes.toString()) || 0);
      command.landed();
    } else if (kind === kinds.exit) {
      this.#commands.delete(id);
      command.end.resolve(exitCode(JSON.parse(bytes.toString())));
    }
  }
}

/** A command on the terminal sends nothing; what claims otherwise is dropped. */
async function forward(to: NodeJS.WritableStream | undefined, bytes: Uint8Array): Promise<void> {
  if (to !== undefined) await write(to, bytes);
}

function text(value: unknown, key: string): string | null {
  const found =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return typeof found === 'string' ? found : null;
}

function exitCode(value: unknown): number {
  const code = (value as { code?: unknown } | null)?.code;
  if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 255) return code;
  throw new WraptoolError('runtime_failed', 'the sandbox gave an exit code that is none');
}
