/** Care of the operator's terminal while a harness owns it. Output of the harness is passed on and never looked at. */
import { spawnSync } from 'node:child_process';
import { isatty, type WriteStream } from 'node:tty';
import { findProgram } from '../confine/program.ts';

export type TerminalSize = { readonly rows: number; readonly columns: number };

export type AttachOptions = {
  /** Bytes go to the runtime unread (a terminal of its own is inside); otherwise the harness sets the modes itself. */
  readonly raw: boolean;
  /** Called for an interrupt that only this process got (no shared terminal). */
  readonly onSignal?: (signal: 'SIGINT' | 'SIGQUIT') => void;
  readonly onResize?: (size: TerminalSize) => void;
};

export type Attachment = {
  /** Gives the terminal back as it was. Idempotent; also done when the process exits. */
  release(): void;
};

/** True if the harness gets a terminal: both ends are the operator's. */
export function hasTerminal(): boolean {
  return isatty(0) && isatty(1);
}

/** True if any standard stream is a terminal. Asks the descriptors: process.stdin would begin to hold its own. */
export function touchesTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd));
}

export function terminalSize(stream: WriteStream = process.stdout): TerminalSize {
  return { rows: stream.rows, columns: stream.columns };
}

const interrupts = ['SIGINT', 'SIGQUIT'] as const;

/** From here to release() SIGINT and SIGQUIT mean nothing to this process, whoever listened: they are the harness's. */
export function attachTerminal(options: AttachOptions): Attachment {
  const saved = isatty(0) ? terminalModes() : null;
  const takeBack = interrupts.map((name) => takeSignal(name, () => options.onSignal?.(name)));
  const resize = (): void => options.onResize?.(terminalSize());
  const raw = options.raw && isatty(0);
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    process.off('exit', release);
    process.stdout.off('resize', resize);
    for (const back of takeBack) back();
    if (raw) process.stdin.setRawMode(false);
    if (saved !== null) restoreModes(saved);
  };
  process.on('exit', release);
  if (options.onResize !== undefined) process.stdout.on('resize', resize);
  if (raw) process.stdin.setRawMode(true);
  return { release };
}

/** Replaces all listeners of a signal; gives back how to undo that. */
function takeSignal(name: NodeJS.Signals, listener: () => void): () => void {
  const others = process.listeners(name);
  process.removeAllListeners(name);
  process.on(name, listener);
  return () => {
    for (const other of others) process.on(name, other);
    process.off(name, listener);
  };
}

/** `stty -g`: the one portable form in which all modes can be kept. The system's: PATH may name a folder of the workspace. */
function terminalModes(): string | null {
  const stty = findProgram('stty');
  if (stty === null) return null;
  const found = spawnSync(stty, ['-g'], { stdio: ['inherit', 'pipe', 'ignore'], encoding: 'utf8', env: {} });
  return found.status === 0 ? found.stdout.trim() : null;
}

/**
 * What ran inside may have left a group of its own in the foreground: the kernel stops the whole group of whoever then
 * sets modes from the background, this process with it, but for one that ignores SIGTTOU. Node's children ignore nothing,
 * therefore a shell says so first.
 */
function restoreModes(modes: string): void {
  const [sh, stty] = [findProgram('sh'), findProgram('stty')];
  if (sh === null || stty === null) return;
  // A closed terminal has no modes to restore.
  spawnSync(sh, ['-c', `trap '' TTOU; exec "$1" "$2"`, 'sh', stty, modes], {
    env: {},
    stdio: ['inherit', 'ignore', 'ignore'],
    timeout: 1000,
    killSignal: 'SIGKILL',
  });
}
