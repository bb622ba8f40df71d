/** A session in bubblewrap: one sandbox, held open by a small program of ours that starts everything else in it. */
import type { Duplex } from 'node:stream';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import { confinementAvailable } from '../../confine/available.ts';
import { confinedCommand } from '../../confine/command.ts';
import { spawnConfined, type Confined } from '../../confine/spawn.ts';
import type { Availability, ConfineSpec } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { attachTerminal, touchesTerminal } from '../attach.ts';
import { HolderClient } from './holder-client.ts';
import { orphans } from './orphans.ts';
import { maskedEnv } from './mask.ts';
import { execInTerminal } from './pseudo-terminal.ts';
import { identity, workspaceMounts, type Identity, type WorkspaceMounts } from './mounts.ts';
import {
  inside,
  type Description,
  type ExecOptions,
  type Executing,
  type LaunchSpec,
  type Progress,
  type Running,
  type Runtime,
  type Started,
  type Stdio,
} from './runtime.ts';

const holderFolder = fileURLToPath(new URL('./holder', import.meta.url));
const holderInside = '/opt/wraptool/holder';
/** The holder's socket inside; below are confine's own. */
const holderFd = 9;

export class Bubblewrap implements Runtime {
  readonly name = 'bubblewrap';

  available(): Promise<Availability> {
    return confinementAvailable();
  }

  async describe(spec: LaunchSpec): Promise<Description> {
    const confine = confineSpec(spec, await workspaceMounts(spec.workspace, { make: false }));
    const { file, args } = confinedCommand(confine, holderCommand());
    return [
      { what: 'sandbox', argv: [file, ...args], detail: { network: spec.network } },
      {
        what: 'harness, started by the sandbox’s first program',
        argv: spec.command,
        detail: { cwd: spec.workspace.path, env: maskedEnv(spec) },
      },
    ];
  }

  async prepare(spec: LaunchSpec, progress: Progress, signal: AbortSignal): Promise<Started> {
    signal.throwIfAborted();
    const workspace = await workspaceMounts(spec.workspace, { make: true });
    const confine = confineSpec(spec, workspace);
    progress(`starting a sandbox, network ${spec.network}`);
    const sandbox = await spawnConfined(confine, holderCommand(), { stdio: holderStdio() });
    const abort = (): void => void sandbox.child.kill('SIGKILL');
    signal.addEventListener('abort', abort, { once: true });
    try {
      sandbox.child.stderr?.on('data', (bytes: Buffer) => process.stderr.write(bytes));
      const holder = connect(sandbox);
      await proveMounts(holder, [
        ...workspace.identities,
        { ...(await identity(spec.home)), path: inside.home },
      ]);
      return started(spec, confine, sandbox, holder);
    } catch (error) {
      await sandbox.stop();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /**
   * Nothing that runs outlives the process that started it. bubblewrap's own first process can: it is cloned before it
   * asks to die with its parent, and waits for ever if that one is killed in between.
   */
  async reclaim(session: { name: string }): Promise<readonly string[]> {
    const lines: string[] = [];
    for (const pid of await orphans(session.name)) {
      process.kill(pid, 'SIGKILL');
      lines.push(`ended a bubblewrap that had not begun (pid ${pid})`);
    }
    return lines;
  }
}

function started(spec: LaunchSpec, confine: ConfineSpec, sandbox: Confined, holder: HolderClient): Started {
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
      detached: !(inherit && confine.terminal),
    };
    const running = holder.start(request, inherit ? besideTerminal() : stdio);
    return inherit ? { ...running, ...attached(running, confine.terminal) } : running;
  };
  return {
    facts: { pid: sandbox.child.pid ?? 0 },
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

function connect(sandbox: Confined): HolderClient {
  const holder = new HolderClient((sandbox.child.stdio as readonly unknown[])[holderFd] as Duplex);
  sandbox.exit.then(
    (code) => holder.over(new Error(`its first program ended with ${code}`)),
    (error: unknown) => holder.over(error),
  );
  return holder;
}

async function proveMounts(holder: HolderClient, folders: readonly Identity[]): Promise<void> {
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

function confineSpec(spec: LaunchSpec, workspace: WorkspaceMounts): ConfineSpec {
  const { path, given, uid, gid } = spec.workspace;
  const foreign = process.getuid?.() === 0 && uid !== 0;
  return {
    readOnly: [
      ...spec.readOnly,
      { source: holderFolder, target: holderInside },
      { source: spec.socketDir, target: inside.socketDir },
      ...workspace.readOnly,
    ],
    // HOME first: the other order would hide a workspace that lies below it.
    writable: [{ source: spec.home, target: inside.home }, ...workspace.writable],
    readOnlyOver: workspace.readOnlyOver,
    links: given === path ? [] : [{ source: path, target: given }],
    cwd: path,
    env: { PATH: '/usr/bin:/bin' },
    network: spec.network,
    terminal: touchesTerminal(),
    hostname: spec.session.name,
    // Clients confine their own commands in user namespaces; uid 0 without capabilities could not make one anyway.
    nestedSandboxes: (foreign ? uid : process.getuid?.()) !== 0,
    ...(foreign ? { user: { uid, gid } } : {}),
  };
}

function holderCommand(): readonly string[] {
  const program = import.meta.url.endsWith('.ts') ? 'main.ts' : 'main.js';
  return [inside.node, `${holderInside}/${program}`, String(holderFd)];
}

type Slot = 'inherit' | 'ignore' | 'pipe';

/**
 * Only a terminal is handed on as it is. Whoever has the descriptor of a file can open that file anew through
 * /proc/self/fd, for writing where it was given for reading: bytes of everything else are passed on.
 */
function holderStdio(): [Slot, Slot, Slot, ...Slot[]] {
  return [
    isatty(0) ? 'inherit' : 'ignore',
    isatty(1) ? 'inherit' : 'ignore',
    // Its own: what bubblewrap says when it fails.
    isatty(2) ? 'inherit' : 'pipe',
    ...Array.from({ length: holderFd - 3 }, (): Slot => 'ignore'),
    'pipe',
  ];
}
