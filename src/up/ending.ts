/** Signals that end a session, and the wait for its harness. */
import { constants } from 'node:os';
import type { Running } from './runtime/runtime.ts';

export type Ending = {
  readonly signal: AbortSignal;
  /** 128+n once a signal has come. */
  readonly code: number | null;
  release(): void;
};

/** SIGTERM, SIGHUP and (before the terminal is the harness's) SIGINT end the session in order. */
export function listenForEnd(): Ending {
  const controller = new AbortController();
  let code: number | null = null;
  const names = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
  const handlers = names.map((name) => {
    const handler = () => {
      code ??= 128 + constants.signals[name];
      controller.abort(new Error(`ended by ${name}`));
    };
    process.on(name, handler);
    return { name, handler };
  });
  // As the signal of a broken pipe would: nobody sees any more what the harness does.
  const failed = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') return;
    code ??= 128 + constants.signals.SIGPIPE;
    controller.abort(new Error('ended with the reader of its output'));
  };
  process.stdout.on('error', failed);
  return {
    signal: controller.signal,
    get code() {
      return code;
    },
    release: () => {
      process.stdout.off('error', failed);
      handlers.forEach(({ name, handler }) => process.off(name, handler));
    },
  };
}

/** What comes of `work`, or the end that was asked for before it comes: then nobody waits for what it does. */
export async function unlessEnded<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const asked = Promise.withResolvers<never>();
  const end = (): void => asked.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, asked.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Waits for the harness; a signal to us is passed on, and the session ends with it. */
export async function attend(running: Running, ending: Ending): Promise<number> {
  const asked = new Promise<'asked'>((resolve) => {
    if (ending.signal.aborted) resolve('asked');
    ending.signal.addEventListener('abort', () => resolve('asked'), { once: true });
  });
  const first = await Promise.race([running.exit, asked]);
  if (first !== 'asked') return first;
  // What passes the signal on may hang: it is waited for no longer than the end.
  const ended = running.kill('SIGTERM').then(() => running.exit);
  ended.catch(() => undefined);
  const grace = new Promise<void>((resolve) => setTimeout(resolve, 2000).unref());
  await Promise.race([ended, grace]);
  return ending.code ?? 1;
}
