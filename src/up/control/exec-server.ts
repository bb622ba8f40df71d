/** The supervisor's half of `exec`: a command beside the harness, its streams as frames on the connection. */
import type { Socket } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { WraptoolError } from '../../errors.ts';
import type { TerminalSize } from '../attach.ts';
import { frame, FrameReader, kinds, type Frame } from '../runtime/holder/frames.ts';
import type { EndSignal, Executing, LaunchSpec, Started } from '../runtime/runtime.ts';
import { writeLine, type Request } from './line.ts';
import type { Handler } from './server.ts';

/** What has asked for the command goes: it is asked to end, and ended. */
const graceMs = 2_000;
/** Each command has a connection of its own: the number in its frames says nothing. */
const only = 1;

export type ExecReport = {
  began(command: readonly string[]): void;
  ended(command: readonly string[], code: number): void;
};

export function execHandler(started: Started, spec: LaunchSpec, report: ExecReport): Handler {
  return async (request, connection) => {
    const { command, cwd, terminal, env } = read(request);
    const stdin = new PassThrough();
    const [stdout, stderr] = [sink(connection, kinds.output), sink(connection, kinds.errors)];
    const running = await started.exec(
      command,
      { stdin, stdout, stderr },
      {
        env: { ...spec.env, ...env },
        ...(cwd === null ? {} : { cwd }),
        ...(terminal === null ? {} : { terminal }),
      },
    );
    report.began(command);
    writeLine(connection, { ok: true });
    const left = follow(connection, running, stdin);
    const code = await running.exit;
    report.ended(command, code);
    stdin.destroy();
    for (const out of [stdout, stderr]) await drained(out);
    connection.write(frame(kinds.exit, only, JSON.stringify({ code })));
    connection.end();
    await left;
  };
}

/** Passes on what the client sends; when it has gone, the command has to go, too. */
async function follow(connection: Socket, running: Executing, stdin: PassThrough): Promise<void> {
  let over = false;
  const ended = running.exit.then(
    () => (over = true),
    () => (over = true),
  );
  const reader = new FrameReader();
  try {
    for await (const chunk of connection as AsyncIterable<Buffer>)
      for (const one of reader.push(chunk)) await take(one, running, stdin, connection);
  } catch (error) {
    // A client that died in the middle of what it sent; one that sends nonsense is treated as gone.
    if (!(error instanceof Error)) throw error;
  }
  if (over) return;
  await running.kill('SIGHUP');
  const grace = new Promise((resolve) => setTimeout(resolve, graceMs).unref());
  await Promise.race([ended, grace]);
  if (!over) await running.kill('SIGKILL');
}

async function take(
  { kind, bytes }: Frame,
  running: Executing,
  stdin: PassThrough,
  connection: Socket,
): Promise<void> {
  if (kind === kinds.input) {
    const taken = (): void => {
      if (!connection.destroyed) connection.write(frame(kinds.taken, only, String(bytes.length)));
    };
    if (stdin.writable) stdin.write(bytes, taken);
    else taken();
  } else if (kind === kinds.inputEnd) stdin.end();
  else if (kind === kinds.signal) await running.kill(signalOf(bytes.toString()));
  else if (kind === kinds.resize) await running.resize(sizeOf(JSON.parse(bytes.toString())));
}

/** A command's output as frames; slow readers slow it down. */
function sink(connection: Socket, kind: typeof kinds.output | typeof kinds.errors): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (connection.destroyed) done();
      else connection.write(frame(kind, only, chunk), () => done());
    },
  });
}

async function drained(stream: Writable): Promise<void> {
  stream.end();
  await finished(stream, { readable: false });
}

const endSignals: readonly EndSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL'];

function signalOf(word: string): EndSignal {
  const found = endSignals.find((name) => name === word);
  if (found === undefined) throw wrong('a signal');
  return found;
}

type Asked = {
  readonly command: readonly string[];
  readonly cwd: string | null;
  readonly terminal: TerminalSize | null;
  readonly env: Readonly<Record<string, string>>;
};

function read(request: Request): Asked {
  const { command, cwd, terminal, env } = request;
  if (!Array.isArray(command) || command.length === 0 || !command.every(isText)) throw wrong('command');
  if (cwd !== null && !(isText(cwd) && cwd.startsWith('/'))) throw wrong('cwd');
  const pairs = typeof env === 'object' && env !== null ? Object.entries(env) : [];
  if (!pairs.every(([name, value]) => /^[^=\0]+$/.test(name) && isText(value))) throw wrong('env');
  return {
    command,
    cwd,
    terminal: terminal === null ? null : sizeOf(terminal),
    env: Object.fromEntries(pairs) as Record<string, string>,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

function sizeOf(value: unknown): TerminalSize {
  const { rows, columns } = (value ?? {}) as Record<string, unknown>;
  const fits = (number: unknown): number is number =>
    typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= 65_535;
  if (!fits(rows) || !fits(columns)) throw wrong('terminal');
  return { rows, columns };
}

function wrong(what: string): WraptoolError {
  return new WraptoolError('usage', `the request's "${what}" is not as it should be`, {
    hint: 'use the version of wraptool that started the session',
  });
}
