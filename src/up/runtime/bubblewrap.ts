/** A session in bubblewrap: one sandbox, held open by a small program of ours that starts everything else in it. */
import { isatty } from 'node:tty';
import { confinementAvailable } from '../../confine/available.ts';
import { confinedCommand } from '../../confine/command.ts';
import { spawnConfined } from '../../confine/spawn.ts';
import type { Availability, ConfineSpec } from '../../confine/types.ts';
import { touchesTerminal } from '../attach.ts';
import {
  connectHolder,
  heldSession,
  holderCommand,
  holderFd,
  holderFolder,
  holderInside,
  proveMounts,
} from './held.ts';
import { orphans } from './orphans.ts';
import { maskedEnv } from './mask.ts';
import { identity, workspaceMounts, type WorkspaceMounts } from './mounts.ts';
import {
  inside,
  type Description,
  type LaunchSpec,
  type Progress,
  type Runtime,
  type Started,
} from './runtime.ts';

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
      const holder = connectHolder(sandbox);
      await proveMounts(holder, [
        ...workspace.identities,
        { ...(await identity(spec.home)), path: inside.home },
      ]);
      const facts = { pid: sandbox.child.pid ?? 0 };
      return heldSession(spec, { terminal: confine.terminal, facts, stop: sandbox.stop }, holder);
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
