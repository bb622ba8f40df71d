/** One of the relay's programs, run in the runtime as the harness's user; what it says is read as hostile. */
import { PassThrough } from 'node:stream';
import { programFile } from '../places.ts';
import type { TerminalSize } from './attach.ts';
import { inside, type Executing, type Started } from './runtime/runtime.ts';

/** How long a program may take, and its end after SIGKILL: whoever passes the signal on may be stopped by the harness. */
export type Patience = { readonly longestMs: number; readonly killedMs: number };
const patience: Patience = { longestMs: 45_000, killedMs: 5_000 };
const longestAnswer = 64 * 1024;

/** `code`: null where it was not seen to end; then `out` is nothing that counts, and `err` says why. */
export type Said = { readonly code: number | null; readonly out: string; readonly err: string };

/**
 * `program` without its ending; `argument` as JSON is its only word. `terminal`: it gets one of its own. `later`: what is
 * said to it on its stdin, when that is known; nothing where it rejects. Always ends once that is decided.
 */
export async function runInside(
  started: Started,
  program: string,
  argument: object,
  terminal: TerminalSize | null = null,
  { longestMs, killedMs }: Patience = patience,
  later: Promise<string> | null = null,
): Promise<Said> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([collect(stdout), collect(stderr)]);
  // One that is given up may go on talking.
  for (const stream of [stdout, stderr]) stream.on('error', () => undefined);
  const close = (): void => {
    stdout.end();
    stderr.end();
  };
  const beginning = started.exec(
    [inside.node, `${inside.relay}/${programFile(program)}`, JSON.stringify(argument)],
    { stdin: later === null ? null : told(later), stdout, stderr },
    terminal === null ? {} : { terminal },
  );
  const exit = beginning.then((running) => running.exit);
  // It can't be done before it has been told everything.
  await Promise.race([Promise.allSettled([exit]), Promise.allSettled([later])]);
  const code = await within(longestMs, exit).finally(close);
  if (code !== late) {
    const [out, err] = await said;
    return { code, out, err };
  }
  const killed = await within(killedMs, beginning.then(ended));
  const after = killed === late ? `, nor within ${killedMs / 1000} s of SIGKILL` : '';
  return { code: null, out: '', err: `it did not end within ${longestMs / 1000} s${after}` };
}

/** For a message. */
export function howEnded(code: number | null): string {
  return code === null ? 'no end' : `exit code ${code}`;
}

const late = Symbol('late');

async function ended(running: Executing): Promise<void> {
  // Where that fails it is gone, or the runtime is: its end tells.
  await running.kill('SIGKILL').catch(() => undefined);
  await running.exit;
}

/** What comes in time. What fails later is nobody's. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | typeof late> {
  const { promise, resolve } = Promise.withResolvers<typeof late>();
  const timer = setTimeout(() => resolve(late), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

function told(later: Promise<string>): NodeJS.ReadableStream {
  const stdin = new PassThrough();
  later.then(
    (text) => stdin.end(text),
    () => stdin.end(),
  );
  return stdin;
}

async function collect(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const part of stream) if (text.length < longestAnswer) text += (part as Buffer).toString('utf8');
  return text;
}
