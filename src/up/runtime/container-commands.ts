/** Commands in one container: started, attached, signalled, waited for. */
import { constants } from 'node:os';
import { WraptoolError } from '../../errors.ts';
import { attachTerminal, hasTerminal, terminalSize, type Attachment, type TerminalSize } from '../attach.ts';
import { Pump, type Streams } from './container-pump.ts';
import type { Engine, EngineEvent, EngineExec, EngineFault } from './docker.ts';
import type { Executing, Stdio } from './runtime.ts';

export type CommandOptions = {
  /** uid:gid inside. */
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
};

// The first line out is the process id inside, said before anything of the harness runs. It leads its own group.
const plainStart = 'echo $$; exec "$@"';
// A terminal of the engine begins at 0x0 before API 1.42.
const terminalStart = 'stty rows "$1" cols "$2" 2>/dev/null; shift 2; echo $$; exec "$@"';

export class ContainerCommands {
  readonly #engine: Engine;
  readonly #id: string;
  readonly #ends = new Map<string, PromiseWithResolvers<number | null | 'over'>>();
  readonly #watching = new AbortController();
  #fate: 'lives' | 'ending' | WraptoolError = 'lives';

  private constructor(engine: Engine, id: string) {
    this.#engine = engine;
    this.#id = id;
  }

  /** Listens to the engine before the first command, so that no end is missed. */
  static async watch(engine: Engine, id: string): Promise<ContainerCommands> {
    const commands = new ContainerCommands(engine, id);
    await engine.watch(
      id,
      (event) => commands.#seen(event),
      (error) =>
        commands.#over(
          new WraptoolError('runtime_failed', 'the Docker engine went away, and the session with it', {
            hint: 'start it again; then "wraptool ps" removes what is left',
            cause: error,
          }),
        ),
      commands.#watching.signal,
    );
    return commands;
  }

  /** From here on the end of the container is wanted: commands end with 128+9 and not with an error. */
  expectEnd(): void {
    if (this.#fate === 'lives') this.#fate = 'ending';
  }

  /** Ends the listening; what still runs counts as ended with the container. */
  close(): void {
    this.expectEnd();
    this.#watching.abort();
    this.#over(new WraptoolError('runtime_failed', 'the container was removed'));
  }

  /** Starts a command on the given streams. A terminal is made where one is asked for, or both ends are the operator's. */
  async start(
    command: readonly string[],
    stdio: Stdio,
    options: CommandOptions & { readonly terminal?: TerminalSize | undefined },
  ): Promise<Executing> {
    const size = options.terminal ?? (stdio === 'inherit' && hasTerminal() ? terminalSize() : null);
    const tty = size !== null;
    const starter =
      size === null ? [plainStart, 'sh'] : [terminalStart, 'sh', String(size.rows), String(size.columns)];
    const exec = await this.open(['/bin/sh', '-c', ...starter, ...command], { ...options, tty });
    const pump = new Pump(exec, tty, stdio === 'inherit' ? standard() : stdio);
    const fault = Promise.withResolvers<never>();
    const resize = tty ? resizing(exec) : async (): Promise<void> => undefined;
    const kill = async (signal: string): Promise<void> => {
      const name = signal.slice(3);
      const pid = await pump.pid;
      if (pid === 0) return;
      // A group that is gone is no failure: the harness was quicker.
      const script = 'kill "-$1" "-$2" 2>/dev/null || ! kill -0 "-$2" 2>/dev/null';
      await this.run(`SIG${name} to ${pid}`, [script, 'sh', name, String(pid)], {
        ...options,
        env: {},
        cwd: '/',
      });
    };
    const terminal = stdio === 'inherit' ? this.#attach(resize, tty, kill, fault.reject) : null;
    const exit = Promise.race([this.end(exec), fault.promise]);
    return { exit: finished(exit, pump, terminal), kill, resize };
  }

  /** Runs a short shell script, with its arguments, to its end; its output. Rejects if it fails. */
  async run(what: string, script: readonly string[], options: CommandOptions): Promise<string> {
    const exec = await this.open(['/bin/sh', '-c', ...script], { ...options, tty: true });
    exec.stream.end();
    let said = '';
    for await (const bytes of exec.stream as AsyncIterable<Buffer>) said += bytes.toString('utf8');
    const code = await this.end(exec);
    if (code === 0) return said.replaceAll('\r\n', '\n');
    throw new WraptoolError('runtime_failed', `${what} in the container ended with ${code}: ${said.trim()}`);
  }

  /** Starts a command with its streams in the caller's hands. */
  async open(command: readonly string[], options: CommandOptions & { tty: boolean }): Promise<EngineExec> {
    if (typeof this.#fate === 'object') throw this.#fate;
    const env = Object.entries(options.env).map(([name, value]) => `${name}=${value}`);
    return this.#engine.exec(this.#id, { ...options, command, env }, (execId) =>
      this.#ends.set(execId, Promise.withResolvers()),
    );
  }

  /** The exit code of a command, when it has ended. */
  async end(exec: EngineExec): Promise<number> {
    const told = await this.#ends.get(exec.id)?.promise;
    this.#ends.delete(exec.id);
    if (told === 'over') {
      if (typeof this.#fate === 'object') throw this.#fate;
      return 128 + constants.signals.SIGKILL;
    }
    return told ?? (await exec.exitCode()) ?? 128 + constants.signals.SIGKILL;
  }

  #attach(
    resize: Executing['resize'],
    tty: boolean,
    kill: (signal: string) => Promise<void>,
    fail: (error: unknown) => void,
  ): Attachment {
    return tty
      ? attachTerminal({ raw: true, onResize: (size) => void resize(size).catch(fail) })
      : attachTerminal({ raw: false, onSignal: (signal) => void kill(signal).catch(fail) });
  }

  #seen(event: EngineEvent): void {
    if (event.kind === 'exec') this.#ends.get(event.execId)?.resolve(event.exitCode);
    else this.#over(new WraptoolError('runtime_failed', 'the container ended while a command ran in it'));
  }

  /** Nothing can run in the container any more, and that was not wanted. */
  fail(fate: WraptoolError): void {
    this.#over(fate);
  }

  #over(fate: WraptoolError): void {
    if (this.#fate === 'lives') this.#fate = fate;
    for (const end of this.#ends.values()) end.resolve('over');
  }
}

function resizing(exec: EngineExec): Executing['resize'] {
  return async (size) => {
    try {
      await exec.resize(size);
    } catch (error) {
      // A command that has ended has no terminal any more.
      if (![404, 409, 500].includes((error as EngineFault).statusCode ?? 0)) throw error;
    }
  };
}

async function finished(exit: Promise<number>, pump: Pump, terminal: Attachment | null): Promise<number> {
  try {
    const code = await exit;
    await pump.settle();
    return code;
  } finally {
    pump.letGo();
    terminal?.release();
  }
}

function standard(): Streams {
  return { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr };
}
