/** `wraptool exec`'s half: the operator's streams to a command in a session, and its exit code back. */
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import type { EndSignal } from '../runtime/runtime.ts';
import { ask } from './client.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ExecRequest = {
  readonly name: string;
  readonly command: readonly string[];
  /** Absolute folder inside; the workspace where null. */
  readonly cwd: string | null;
};

/** Variables of the terminal that the command is shown on, which need not be the session's. */
const terminalNames = ['TERM', 'COLORTERM'];
const passedOn: readonly EndSignal[] = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'];

/** Runs a command on this process's own streams, with a terminal of its own where they are one; its exit code. */
export async function execute(env: Env, request: ExecRequest): Promise<number> {
  const terminal = isatty(0) && isatty(1);
  const asked = ask(env, request.name, {
    do: 'exec',
    command: request.command,
    cwd: request.cwd,
    terminal: terminal ? { rows: process.stdout.rows, columns: process.stdout.columns } : null,
    env: terminal ? named(env, terminalNames) : {},
  });
  // Loaded while the supervisor is at work.
  const [{ socket }, { HolderClient }, attach] = await Promise.all([
    asked,
    import('../runtime/holder-client.ts'),
    terminal ? import('../attach.ts') : null,
  ]);
  const client = new HolderClient(socket, 'the session');
  // What ran in it was ended with it.
  client.expectEnd();
  // Not by the socket's close: the last of the output, and the exit code behind it, may still be on their way out.
  void client.read.then(() => client.over(null));
  const running = client.start(
    { command: request.command, env: {}, cwd: '/', detached: true },
    { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr },
  );
  const fail = (error: unknown): void => client.over(error);
  const attachment = attach?.attachTerminal({
    raw: true,
    onResize: (size) => void running.resize(size).catch(fail),
  });
  let hungUp = false;
  const handlers = passedOn.map((name) => {
    const handler = (): void => {
      hungUp ||= name === 'SIGHUP';
      // Nobody is left to look: the supervisor asks the command to end, and ends it.
      if (hungUp) socket.destroy();
      else running.kill(name).catch(fail);
    };
    process.on(name, handler);
    return () => process.off(name, handler);
  });
  try {
    const code = await running.exit;
    return hungUp ? 128 + constants.signals.SIGHUP : code;
  } finally {
    for (const off of handlers) off();
    attachment?.release();
    socket.destroy();
    // An input that nobody reads any more would keep this process.
    process.stdin.destroy();
  }
}

function named(env: Env, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) if (env[name] !== undefined) found[name] = env[name];
  return found;
}
