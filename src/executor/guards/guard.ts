import type { ConfineSpec } from '../../confine/types.ts';
import type { FrozenCall, Outcome, RunOptions } from '../types.ts';

/** Runs one tool's calls its own way, in steps, because the plain command would obey a hostile workspace. */
export interface Guard {
  /**
   * `options.signal` and the call's time limit already bound every `host.exec`; a guard has to watch neither.
   * What it can't do safely it answers with `{kind: 'refused', reason: 'guard_refused', detail}`.
   */
  run(call: FrozenCall, host: GuardHost, options: RunOptions): Promise<Outcome>;
}

export type Step =
  | {
      readonly kind: 'confined';
      readonly spec: ConfineSpec;
      /** Absolute argv inside the sandbox. */
      readonly command: readonly string[];
    }
  | {
      readonly kind: 'host';
      /** Absolute path. */
      readonly binary: string;
      readonly argv: readonly string[];
      /** The whole environment. */
      readonly env: Readonly<Record<string, string>>;
      /** A folder of the operator's, or `/proc/PID/fd/N` of an opened one. */
      readonly cwd: string;
    };

export type StepOptions = {
  /** capture (default): raw bytes in the result. stream: scrubbed and capped into the outcome, and to `onLine`. */
  readonly output?: 'capture' | 'stream';
  /** Default: empty. */
  readonly stdin?: Uint8Array;
  /** Less than what is left of the call's time. */
  readonly timeoutMs?: number;
  /** Captured bytes of each stream; what is over is dropped and `truncated` set. Default 8 MiB. */
  readonly maxBytes?: number;
};

export type StepResult = {
  /** Null when a signal ended it, or when it was not started because the call's time was up. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly cancelled: boolean;
  /** Empty for a streamed step. */
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
};

export interface GuardHost {
  /** Rejects with WraptoolError (confine_unavailable, network_unavailable, runtime_failed) if the step can't run. */
  exec(step: Step, options?: StepOptions): Promise<StepResult>;
  /** Adds text to the outcome, scrubbed and capped like a step's. */
  write(stream: 'stdout' | 'stderr', text: string): void;
  /** The outcome: all that was streamed and written, with the exit code and signal of the step that counts. */
  finish(result: Pick<StepResult, 'exitCode' | 'signal'>, notes?: readonly string[]): Outcome;
}
