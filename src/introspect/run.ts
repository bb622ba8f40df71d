/** Runs one program for its help, confined and bounded, and gives back what it printed. */
import { WraptoolError } from '../errors.ts';
import type { Spawner } from '../executor/spawner.ts';
import { helpPlace } from './place.ts';

export type HelpRun = {
  /** Real path. */
  readonly binary: string;
  readonly argv: readonly string[];
  /** The operator's HOME, to keep it out. */
  readonly home: string;
  readonly timeoutMs?: number;
};

export type HelpText = { readonly text: string; readonly failed: boolean };

const defaultTimeoutMs = 5000;
/** Bytes kept of each stream; a program that prints more is ended. */
const maxOutput = 256 * 1024;

/**
 * The exit code says nothing: many print their help with 1, 129 or 255. The standard output counts where there is one.
 * Throws introspect_failed after the time limit, and what the sandbox throws.
 */
export async function runHelp(spawner: Spawner, run: HelpRun): Promise<HelpText> {
  const spec = await helpPlace(run.binary, run.home);
  const out = new Capture();
  const err = new Capture();
  const running = spawner.start({ kind: 'confined', spec, command: [run.binary, ...run.argv] }, null, {
    stdout: (chunk) => out.take(chunk) || running.kill('SIGKILL'),
    stderr: (chunk) => err.take(chunk) || running.kill('SIGKILL'),
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    running.kill('SIGKILL');
  }, run.timeoutMs ?? defaultTimeoutMs);
  let code: number | null;
  try {
    ({ code } = await running.exit);
  } finally {
    clearTimeout(timer);
  }
  const text = out.text.trim() === '' ? err.text : out.text;
  if (!late) return { text, failed: code !== 0 };
  throw new WraptoolError(
    'introspect_failed',
    `'${[run.binary, ...run.argv].join(' ')}' did not end within ${run.timeoutMs ?? defaultTimeoutMs} ms`,
    { hint: 'name what prints its help in `tools.NAME.help_argv`; `[]` is never to run it' },
  );
}

class Capture {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** False when it is full. */
  take(chunk: Buffer): boolean {
    const part = chunk.subarray(0, maxOutput - this.#bytes);
    this.#bytes += part.length;
    if (part.length > 0) this.#chunks.push(part);
    return this.#bytes < maxOutput;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}
