/** A session in `guix shell --container`: our holder keeps it open and starts everything else in it. */
import { PassThrough } from 'node:stream';
import { isatty } from 'node:tty';
import { findProgram } from '../../confine/program.ts';
import type { Confined } from '../../confine/spawn.ts';
import { spawnTethered, tetheredCommand } from '../../confine/tether.ts';
import type { Availability } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import { processRef, signal as send, waitForEnd } from '../../supervise/process.ts';
import { touchesTerminal } from '../attach.ts';
import { findOnPath } from './find-program.ts';
import { certificateEnv, errorsFd, guixCommand, guixVariable, type GuixCommand } from './guix-command.ts';
import { explainGuix } from './guix-errors.ts';
import { probeGuix } from './guix-probe.ts';
import { endContainer, firstProcess, Said } from './guix-process.ts';
import { connectHolder, heldSession, proveMounts } from './held.ts';
import { maskedEnv } from './mask.ts';
import { identity, workspaceMounts, type WorkspaceMounts } from './mounts.ts';
import { withVariable } from './orphans.ts';
import {
  inside,
  type Description,
  type LaunchSpec,
  type Progress,
  type Runtime,
  type Started,
} from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

const stopMs = 5000;
const installGuix = 'install Guix: https://guix.gnu.org';

export class Guix implements Runtime {
  readonly name = 'guix';
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  async available(options: { workspace?: string | undefined }): Promise<Availability> {
    if (process.platform !== 'linux')
      return no(`it is for Linux, this is ${process.platform}`, 'use a Linux machine');
    const hostile = options.workspace === undefined ? [] : [options.workspace];
    const guix = await findOnPath('guix', this.#env['PATH'], hostile);
    if (guix === null) return no('there is no "guix" on PATH', installGuix);
    if (findProgram('bwrap') === null)
      return no('it needs bubblewrap to be tied to wraptool', 'install it: "guix install bubblewrap"');
    return probeGuix(guix, this.#env);
  }

  async describe(spec: LaunchSpec): Promise<Description> {
    const command = await this.#command(spec, await workspaceMounts(spec.workspace, { make: false }));
    const { file, args } = tetheredCommand(command.tether, command.argv);
    return [
      {
        what: 'container',
        argv: [file, ...args],
        detail: {
          network: spec.network === 'none' ? 'none' : 'the host’s',
          env: { ...command.tether.env, ...command.tether.shown },
        },
      },
      {
        what: 'harness, started by the container’s holder',
        argv: spec.command,
        detail: { cwd: spec.workspace.path, env: maskedEnv(withCertificates(spec)) },
      },
    ];
  }

  async prepare(spec: LaunchSpec, progress: Progress, signal: AbortSignal): Promise<Started> {
    signal.throwIfAborted();
    const workspace = await workspaceMounts(spec.workspace, { make: true });
    const command = await this.#command(spec, workspace);
    progress(
      spec.network === 'none'
        ? 'starting a container'
        : 'starting a container that shares the host’s network',
    );
    const sandbox = await spawnTethered(command.tether, command.argv, { stdio: containerStdio() });
    const said = new Said(sandbox.child.stderr!, progress);
    const abort = (): void => void sandbox.child.kill('SIGKILL');
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await this.#opened(spec, workspace, command, sandbox, said);
    } catch (error) {
      await endContainer(sandbox, await firstProcess(sandbox));
      signal.throwIfAborted();
      if (said.over) throw error;
      const { reason, hint } = explainGuix(said.text, sandbox.child.exitCode ?? 1);
      throw new WraptoolError('runtime_failed', `guix made no container: ${reason}`, { hint, cause: error });
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** What a dead session's guix had not yet turned into its container; the container itself ends with wraptool. */
  async reclaim(session: { id: string }): Promise<readonly string[]> {
    const lines: string[] = [];
    for (const pid of await withVariable(`${guixVariable}=${session.id}`)) {
      const left = await processRef(pid);
      if (left === null || !(await send(left, 'SIGKILL'))) continue;
      await waitForEnd(left, stopMs);
      lines.push(`ended a guix that had not begun (pid ${pid})`);
    }
    return lines;
  }

  async #opened(
    spec: LaunchSpec,
    workspace: WorkspaceMounts,
    command: GuixCommand,
    sandbox: Confined,
    said: Said,
  ): Promise<Started> {
    const holder = connectHolder(sandbox);
    const home = { ...(await identity(spec.home)), path: inside.home };
    await holder.verify([]);
    said.end();
    await proveMounts(holder, [...workspace.identities, home]);
    const init = await firstProcess(sandbox);
    const facts = { pid: sandbox.child.pid ?? 0, init: init?.pid ?? 0 };
    const stop = (): Promise<void> => endContainer(sandbox, init);
    const started = heldSession(
      withCertificates(spec),
      { terminal: command.tether.terminal, facts, stop },
      holder,
    );
    if (process.getuid?.() === 0 && spec.workspace.uid === 0) await proveClosed(started);
    if (command.linkLater) await linkSpelling(started, spec);
    return started;
  }

  async #command(spec: LaunchSpec, workspace: WorkspaceMounts): Promise<GuixCommand> {
    const guix = await findOnPath('guix', this.#env['PATH'], [spec.workspace.path, spec.home]);
    if (guix === null)
      throw new WraptoolError('runtime_unavailable', 'there is no "guix" on PATH', { hint: installGuix });
    const options = { env: this.#env, terminal: touchesTerminal(), errors: isatty(2) };
    return guixCommand(guix, spec, workspace, options);
  }
}

function withCertificates(spec: LaunchSpec): LaunchSpec {
  return { ...spec, env: { ...certificateEnv, ...spec.env } };
}

/** uid 0 inside is the host's: where the masks over /proc do not hold, it could write what the kernel obeys. */
async function proveClosed(started: Started): Promise<void> {
  const script =
    'for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do [ ! -w "$f" ] || exit 1; done; exit 0';
  if ((await quietly(started, ['/bin/sh', '-c', script])) === 0) return;
  throw new WraptoolError('runtime_failed', 'root in the container could write to /proc/sys', {
    hint: 'work as another user than root, or use another --runtime',
  });
}

/** Exit code of a command whose output does not matter. */
async function quietly(started: Started, command: readonly string[]): Promise<number> {
  const silent = new PassThrough().resume();
  return (await started.exec(command, { stdin: null, stdout: silent, stderr: silent })).exit;
}

/** The workspace under the name that the operator knows it by, in a folder that is private and writable. */
async function linkSpelling(started: Started, spec: LaunchSpec): Promise<void> {
  const script = '[ -e "$1" ] || { mkdir -p -- "${1%/*}/" && ln -s -- "$2" "$1"; }';
  const { given, path } = spec.workspace;
  if ((await quietly(started, ['/bin/sh', '-c', script, 'sh', given, path])) === 0) return;
  throw new WraptoolError('runtime_failed', `the link '${given}' could not be made in the container`, {
    hint: `name the workspace as '${path}'`,
  });
}

type Slot = 'inherit' | 'ignore' | 'pipe' | number;

/** Only a terminal is handed on as it is, see bubblewrap.ts. Standard error is guix's own, for wraptool to read. */
function containerStdio(): [Slot, Slot, Slot, ...Slot[]] {
  return [
    isatty(0) ? 'inherit' : 'ignore',
    isatty(1) ? 'inherit' : 'ignore',
    'pipe',
    ...Array.from({ length: errorsFd - 3 }, (): Slot => 'ignore'),
    isatty(2) ? 2 : 'ignore',
    'pipe',
  ];
}

function no(reason: string, hint: string): Availability {
  return { ok: false, reason, hint };
}
