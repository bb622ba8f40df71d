/** A terminal inside, for a runtime that makes none itself: script(1) holds it, all else is what `exec` does anyway. */
import { PassThrough, Transform, type TransformCallback } from 'node:stream';
import type { TerminalSize } from '../attach.ts';
import type { ExecOptions, Executing, Stdio } from './runtime.ts';

type Streams = Exclude<Stdio, 'inherit'>;
type Start = (command: readonly string[], stdio: Streams, options: ExecOptions) => Executing;

/** Runs a command in a terminal of its own. `start` runs a plain one. Without script(1) inside it ends with 127. */
export async function execInTerminal(
  start: Start,
  command: readonly string[],
  stdio: Streams,
  options: ExecOptions & {
    readonly terminal: TerminalSize;
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<Executing> {
  const { terminal, env, ...rest } = options;
  const head = new Head();
  head.pipe(stdio.stdout, { end: false });
  const stdin = new PassThrough();
  // What is typed earlier would be echoed into the first line.
  if (stdio.stdin === null) stdin.end();
  else void head.line.then(() => stdio.stdin?.pipe(stdin));
  const running = start(
    ['script', '--quiet', '--return', '--flush', '--command', inner(command, terminal, env), '/dev/null'],
    { ...stdio, stdin, stdout: head },
    // What it starts the command with; the command has the variable as it was.
    { ...rest, env: { ...env, SHELL: '/bin/sh' } },
  );
  /** Runs a short command beside it; it fails where its aim has gone, which is no failure. */
  const beside = async (words: readonly string[]): Promise<void> => {
    const [out, err] = [new PassThrough().resume(), new PassThrough().resume()];
    const streams: Streams = { stdin: null, stdout: out, stderr: err };
    await start(words, streams, { env: { PATH: env['PATH'] ?? '/usr/bin:/bin' }, cwd: '/' }).exit;
  };
  return {
    exit: running.exit.finally(() => {
      stdio.stdin?.unpipe(stdin);
      return drained(head);
    }),
    // Not to script(1), which takes two seconds over it and ends well.
    kill: async (name) => {
      const inside = await head.line;
      if (inside === null) return running.kill(name);
      await beside(['/bin/sh', '-c', 'kill "-$1" "-$2"', 'sh', name.slice(3), inside.pid]);
    },
    resize: async ({ rows, columns }) => {
      const inside = await head.line;
      if (inside === null) return;
      await beside(['stty', '-F', inside.device, 'rows', String(rows), 'cols', String(columns)]);
    },
  };
}

/** Said by the shell that script(1) starts: which terminal it is and who leads its group, then the command in its place. */
function inner(
  command: readonly string[],
  { rows, columns }: TerminalSize,
  env: Readonly<Record<string, string>>,
): string {
  const shell = env['SHELL'] === undefined ? 'unset SHELL' : `SHELL=${quoted(env['SHELL'])}`;
  // Fed by a pipe, script(1) makes a terminal that does not echo.
  const modes = `stty sane rows ${rows} cols ${columns} 2>/dev/null`;
  return `${modes}; echo "$(tty) $$"; ${shell}; exec ${command.map(quoted).join(' ')}`;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

async function drained(stream: Transform): Promise<void> {
  stream.end();
  if (!stream.readableEnded && !stream.destroyed)
    await new Promise<void>((resolve) => stream.once('end', resolve).once('close', resolve));
}

type Inside = { readonly device: string; readonly pid: string };

/** Passes bytes on but for the first line, which names the terminal and the leader of its group. */
class Head extends Transform {
  readonly #line = Promise.withResolvers<Inside | null>();
  /** Null where nothing was said. */
  readonly line = this.#line.promise;
  #head: Buffer | null = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#head === null) return done(null, chunk);
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf(10);
    if (end < 0) return done();
    const [, device, pid] = /^(\/dev\/pts\/\d+) (\d+)\r?$/.exec(this.#head.toString('latin1', 0, end)) ?? [];
    const known = device !== undefined && pid !== undefined;
    this.#line.resolve(known ? { device, pid } : null);
    const passed = known ? this.#head.subarray(end + 1) : this.#head;
    this.#head = null;
    done(null, passed);
  }

  override _flush(done: TransformCallback): void {
    this.#line.resolve(null);
    done(null, this.#head ?? undefined);
  }
}
