/** What sandboxes have in common that a program of ours, the holder, keeps open and starts everything else in. */
import type { Duplex } from 'node:stream';
import { isatty } from 'node:tty';
import type { Confined } from '../../confine/spawn.ts';
import { WraptoolError } from '../../errors.ts';
import { codeFolder, programFile } from '../../places.ts';
import { attachTerminal } from '../attach.ts';
import { HolderClient } from './holder-client.ts';
import type { Identity } from './mounts.ts';
import { execInTerminal } from './pseudo-terminal.ts';
import {
  inside,
  type ExecOptions,
  type Executing,
  type LaunchSpec,
  type Running,
  type Started,
  type Stdio,
} from './runtime.ts';

export const holderFolder = codeFolder('up/runtime/holder');
export const holderInside = '/opt/wraptool/holder';
/** The holder's socket inside; below are confine's own. */
export const holderFd = 9;

/** argv of the holder inside; further words are descriptors, see its main file. */
export function holderCommand(...words: readonly string[]): readonly string[] {
  return [inside.node, `${holderInside}/${programFile('main')}`, String(holderFd), ...words];
}

export function connectHolder(sandbox: Confined): HolderClient {
  const holder = new HolderClient((sandbox.child.stdio as readonly unknown[])[holderFd] as Duplex);
  sandbox.exit.then(
    (code) => holder.over(new Error(`its first program ended with ${code}`)),
    (error: unknown) => holder.over(error),
  );
  return holder;
}

export async function proveMounts(holder: HolderClient, folders: readonly Identity[]): Promise<void> {
  const bad = await holder.verify(folders);
  if (bad === null) return;
  throw new WraptoolError(
    'runtime_failed',
    `another folder is mounted at '${bad}' than the one that was looked at`,
    {
      hint: 'something changes the workspace right now; end it and try again',
    },
  );
}

/** The session in a sandbox whose holder answers. `terminal`: the holder has the operator's. */
export function heldSession(
  spec: Pick<LaunchSpec, 'command' | 'env' | 'workspace'>,
  sandbox: { readonly terminal: boolean; readonly facts: Started['facts']; stop(): Promise<void> },
  holder: HolderClient,
): Started {
  const start = (
    command: readonly string[],
    stdio: Stdio,
    options: Omit<ExecOptions, 'terminal'>,
  ): Executing => {
    const inherit = stdio === 'inherit';
    const request = {
      command,
      env: options.env ?? spec.env,
      cwd: options.cwd ?? spec.workspace.path,
      detached: !(inherit && sandbox.terminal),
    };
    const running = holder.start(request, inherit ? besideTerminal() : stdio);
    return inherit ? { ...running, ...attached(running, sandbox.terminal) } : running;
  };
  return {
    facts: sandbox.facts,
    run: async (stdio) => start(spec.command, stdio, {}),
    exec: async (command, stdio, options = {}) => {
      const { terminal, ...plain } = options;
      return terminal === undefined || stdio === 'inherit'
        ? start(command, stdio, plain)
        : execInTerminal(start, command, stdio, { env: spec.env, ...plain, terminal });
    },
    stop: async () => {
      holder.expectEnd();
      await sandbox.stop();
    },
  };
}

/** On a shared terminal the kernel signals the harness itself; without one an interrupt only reaches this process. */
function attached(running: Running, terminal: boolean): Running {
  const fault = Promise.withResolvers<never>();
  const attachment = attachTerminal(
    terminal
      ? { raw: false }
      : { raw: false, onSignal: (name) => void running.kill(name).catch(fault.reject) },
  );
  return {
    ...running,
    exit: Promise.race([running.exit, fault.promise]).finally(() => attachment.release()),
  };
}

/** The operator's own streams, but for those that are a terminal. */
function besideTerminal(): Parameters<HolderClient['start']>[1] {
  return {
    stdin: isatty(0) ? undefined : process.stdin,
    stdout: isatty(1) ? undefined : process.stdout,
    stderr: isatty(2) ? undefined : process.stderr,
  };
}
