/** One of the relay's programs, run in the runtime as the harness's user; what it says is read as hostile. */
import { PassThrough } from 'node:stream';
import { programFile } from '../places.ts';
import type { TerminalSize } from './attach.ts';
import { inside, type Executing, type Started } from './runtime/runtime.ts';

const longestMs = 45_000;
const longestAnswer = 64 * 1024;

export type Said = { readonly code: number; readonly out: string; readonly err: string };

/**
 * `program` without its ending; `argument` as JSON is its only word. `terminal`: it gets one of its own. `later`: what is
 * said to it on its stdin, when that is known; nothing where it rejects.
 */
export async function runInside(
  started: Started,
  program: string,
  argument: object,
  { terminal = null, later = null }: { terminal?: TerminalSize | null; later?: Promise<string> | null } = {},
): Promise<Said> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([collect(stdout), collect(stderr)]);
  const running = await started.exec(
    [inside.node, `${inside.relay}/${programFile(program)}`, JSON.stringify(argument)],
    { stdin: later === null ? null : told(later), stdout, stderr },
    terminal === null ? {} : { terminal },
  );
  const over = new AbortController();
  // It can't be done before it has been told everything.
  void Promise.allSettled([later]).then(() => limit(running, over.signal));
  const code = await running.exit.finally(() => over.abort());
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, out, err };
}

function limit(running: Executing, over: AbortSignal): void {
  if (over.aborted) return;
  const timer = setTimeout(() => void running.kill('SIGKILL').catch(() => undefined), longestMs);
  over.addEventListener('abort', () => clearTimeout(timer), { once: true });
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
