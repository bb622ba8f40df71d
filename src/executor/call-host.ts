import type { GuardHost, Step, StepOptions, StepResult } from './guards/guard.ts';
import { OutputStream, type ScrubStream } from './output.ts';
import { Progress } from './progress.ts';
import type { Running, Sinks, SpawnRequest, Spawner } from './spawner.ts';
import type { FrozenCall, Outcome, RunOptions } from './types.ts';

const killAfterMs = 2000;
const captureBytes = 8 * 1024 * 1024;

type Stop = 'timedOut' | 'cancelled';

/** One call's steps, under one time limit and one cancellation, and its output. */
export class CallHost implements GuardHost {
  readonly #spawner: Spawner;
  readonly #options: RunOptions;
  readonly #started = performance.now();
  readonly #deadline: number;
  readonly #progress: Progress | null;
  readonly #out: { readonly stdout: OutputStream; readonly stderr: OutputStream };
  readonly #active = new Set<Running>();
  #stopped: Stop | null = null;

  constructor(spawner: Spawner, newScrub: () => ScrubStream, call: FrozenCall, options: RunOptions) {
    this.#spawner = spawner;
    this.#options = options;
    this.#deadline = this.#started + call.timeoutMs;
    this.#progress = options.onLine === undefined ? null : new Progress(options.onLine);
    const output = (): OutputStream =>
      new OutputStream({
        scrub: newScrub(),
        maxBytes: call.maxOutputBytes,
        ...(this.#progress === null ? {} : { onLine: (line: string) => this.#progress!.add(line) }),
      });
    this.#out = { stdout: output(), stderr: output() };
  }

  async exec(step: Step, options: StepOptions = {}): Promise<StepResult> {
    const capture = new Capture(options.maxBytes ?? captureBytes);
    const stopped = this.#whyStopped();
    if (stopped !== null) {
      this.#stopped = stopped;
      return { ...capture.result(), ...unstarted, [stopped]: true };
    }
    const sinks: Sinks =
      options.output === 'stream'
        ? { stdout: (chunk) => this.#out.stdout.push(chunk), stderr: (chunk) => this.#out.stderr.push(chunk) }
        : capture.sinks;
    const running = this.#spawner.start(request(step), options.stdin ?? null, sinks);
    this.#active.add(running);
    const limit = new Limit(running, this.#remaining(options.timeoutMs), this.#options.signal);
    try {
      const { code, signal } = await running.exit;
      const why = limit.why;
      return {
        ...capture.result(),
        exitCode: code,
        signal,
        timedOut: why === 'timedOut',
        cancelled: why === 'cancelled',
      };
    } finally {
      limit.release();
      this.#active.delete(running);
      // A step's own limit is not the call's.
      if (limit.why !== null) this.#stopped ??= this.#whyStopped();
    }
  }

  write(stream: 'stdout' | 'stderr', text: string): void {
    this.#out[stream].write(text);
  }

  finish(result: Pick<StepResult, 'exitCode' | 'signal'>, notes: readonly string[] = []): Outcome {
    const stdout = this.#out.stdout.end();
    const stderr = this.#out.stderr.end();
    this.#progress?.end();
    return {
      kind: 'finished',
      exitCode: result.exitCode,
      signal: result.signal,
      timedOut: this.#stopped === 'timedOut',
      cancelled: this.#stopped === 'cancelled',
      stdout: stdout.text,
      stderr: stderr.text,
      truncated: stdout.truncated || stderr.truncated,
      durationMs: Math.round(performance.now() - this.#started),
      notes,
    };
  }

  /** A guard that ended without waiting leaves nothing behind. */
  async release(): Promise<void> {
    for (const running of this.#active) running.kill('SIGKILL');
    await Promise.allSettled([...this.#active].map((running) => running.exit));
    this.#progress?.end();
  }

  #whyStopped(): Stop | null {
    if (this.#stopped !== null) return this.#stopped;
    if (this.#options.signal.aborted) return 'cancelled';
    return performance.now() >= this.#deadline ? 'timedOut' : null;
  }

  #remaining(stepMs: number | undefined): number {
    return Math.max(1, Math.min(this.#deadline - performance.now(), stepMs ?? Infinity));
  }
}

const unstarted = { exitCode: null, signal: null };

function request(step: Step): SpawnRequest {
  if (step.kind === 'confined') return step;
  return { kind: 'host', file: step.binary, args: step.argv, env: step.env, cwd: step.cwd };
}

/** TERM at the end of the time or at a cancellation, KILL two seconds later. */
class Limit {
  readonly #running: Running;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #cancel = (): void => this.#stop('cancelled');
  #killer: NodeJS.Timeout | undefined;
  why: Stop | null = null;

  constructor(running: Running, ms: number, signal: AbortSignal) {
    this.#running = running;
    this.#signal = signal;
    this.#timer = setTimeout(() => this.#stop('timedOut'), Math.ceil(ms));
    signal.addEventListener('abort', this.#cancel, { once: true });
    if (signal.aborted) this.#cancel();
  }

  release(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#killer);
    this.#signal.removeEventListener('abort', this.#cancel);
  }

  #stop(why: Stop): void {
    if (this.why !== null) return;
    this.why = why;
    this.#running.kill('SIGTERM');
    this.#killer = setTimeout(() => this.#running.kill('SIGKILL'), killAfterMs);
  }
}

/** Raw bytes of a step, up to a limit. */
class Capture {
  readonly #max: number;
  readonly #kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  readonly #bytes = { stdout: 0, stderr: 0 };
  #truncated = false;

  constructor(max: number) {
    this.#max = max;
  }

  readonly sinks: Sinks = {
    stdout: (chunk) => this.#take('stdout', chunk),
    stderr: (chunk) => this.#take('stderr', chunk),
  };

  result(): Omit<StepResult, 'exitCode' | 'signal'> {
    return {
      timedOut: false,
      cancelled: false,
      stdout: Buffer.concat(this.#kept.stdout),
      stderr: Buffer.concat(this.#kept.stderr),
      truncated: this.#truncated,
    };
  }

  #take(name: 'stdout' | 'stderr', chunk: Buffer): void {
    const part = chunk.subarray(0, this.#max - this.#bytes[name]);
    this.#bytes[name] += part.length;
    if (part.length < chunk.length) this.#truncated = true;
    if (part.length > 0) this.#kept[name].push(part);
  }
}
