/** One of the relay's programs, run in the runtime as the harness's user; what it says is read as hostile. */
import { PassThrough } from 'node:stream';
import { programFile } from '../places.ts';
import type { TerminalSize } from './attach.ts';
import { inside, type Started } from './runtime/runtime.ts';

const longestMs = 45_000;
const longestAnswer = 64 * 1024;

export type Said = { readonly code: number; readonly out: string; readonly err: string };

/** `program` without its ending; `argument` as JSON is its only word. `terminal`: it gets one of its own. */
export async function runInside(
  started: Started,
  program: string,
  argument: object,
  terminal: TerminalSize | null = null,
): Promise<Said> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([collect(stdout), collect(stderr)]);
  const running = await started.exec(
    [inside.node, `${inside.relay}/${programFile(program)}`, JSON.stringify(argument)],
    { stdin: null, stdout, stderr },
    terminal === null ? {} : { terminal },
  );
  const timer = setTimeout(() => void running.kill('SIGKILL').catch(() => undefined), longestMs);
  const code = await running.exit.finally(() => clearTimeout(timer));
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, out, err };
}

async function collect(stream: AsyncIterable<unknown>): Promise<string> {
  let text = '';
  for await (const part of stream) if (text.length < longestAnswer) text += (part as Buffer).toString('utf8');
  return text;
}
