/** One of the relay's programs, run in the runtime as the harness's user; what it says is read as hostile. */
import { PassThrough } from 'node:stream';
import { WraptoolError } from '../errors.ts';
import type { TerminalSize } from './attach.ts';
import { inside, type Started } from './runtime/runtime.ts';

const longestMs = 45_000;
/** What starts the command and ends it is in the harness's reach, too: it is not waited for without end. */
const patienceMs = 10_000;
const longestAnswer = 64 * 1024;

export type Said = { readonly code: number; readonly out: string; readonly err: string };

/**
 * `program` without its ending; `argument` as JSON is its only word. `terminal`: it gets one of its own. Error: runtime_failed
 * where the runtime neither ran nor ended it in time.
 */
export async function runInside(
  started: Started,
  program: string,
  argument: object,
  terminal: TerminalSize | null = null,
  limit = longestMs,
): Promise<Said> {
  const late = Promise.withResolvers<never>();
  const refuse = (): void =>
    late.reject(
      new WraptoolError('runtime_failed', 'the runtime does not answer', {
        hint: 'something in it may have been stopped: end the session, and start it again',
      }),
    );
  const timer = setTimeout(refuse, limit + patienceMs);
  try {
    return await Promise.race([run(started, program, argument, terminal, limit), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function run(
  started: Started,
  program: string,
  argument: object,
  terminal: TerminalSize | null,
  limit: number,
): Promise<Said> {
  const file = `${program}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`;
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([collect(stdout), collect(stderr)]);
  const running = await started.exec(
    [inside.node, `${inside.relay}/${file}`, JSON.stringify(argument)],
    { stdin: null, stdout, stderr },
    terminal === null ? {} : { terminal },
  );
  const timer = setTimeout(() => void running.kill('SIGKILL').catch(() => undefined), limit);
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
