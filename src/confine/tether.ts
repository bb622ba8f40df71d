import { seccompFd, statusFd } from './fds.ts';
import { groupShares } from './paths.ts';
import { program, systemPath } from './program.ts';
import { seccompFilter } from './seccomp.ts';
import { spawnBuilt, type Confined, type SpawnOptions } from './spawn.ts';
import type { Bind, ConfinedCommand } from './types.ts';

/** Where a tethered program finds what `binds` and `links` name: a private /dev/shm, which is also its TMPDIR. */
export const tetherPlace = '/dev/shm';

/**
 * A trusted program that makes a sandbox of its own, as `guix shell --container` does. It sees the whole system. It and
 * all that it starts die with this process, gain no privilege and cannot inject into a terminal.
 */
export type TetherSpec = {
  /** Sources that it may not be able to name or reach, made visible at targets below `tetherPlace`. */
  readonly binds: readonly Bind[];
  /** Files of the system that it may not write, root or not. */
  readonly readOnly: readonly string[];
  /** Links made below `tetherPlace`: target is where the link stands, source what it says. */
  readonly links: readonly Bind[];
  /** Folders made below `tetherPlace`. */
  readonly folders: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that also stand on the command line, for `ps` and for a later command that looks for what is left. */
  readonly shown: Readonly<Record<string, string>>;
  /** Folders of the host that are writable in its sandbox, for the filter on modes. */
  readonly writable: readonly string[];
  readonly terminal: boolean;
  /** Run as this owner; only root may change it. Absent: the caller. */
  readonly user?: { readonly uid: number; readonly gid: number };
};

/** Throws confine_unavailable where a program is missing. */
export function tetheredCommand(spec: TetherSpec, command: readonly string[]): ConfinedCommand {
  const filter = seccompFilter({ nestedSandboxes: true, setgid: spec.writable.some(groupShares) });
  const argv = [
    // Of the terminal's signals none is for the launchers: they are the harness's.
    ...(spec.terminal ? [program('env'), '--ignore-signal=INT,QUIT'] : []),
    program('bwrap'),
    ...['--dev-bind', '/', '/', '--perms', '1777', '--tmpfs', tetherPlace],
    ...spec.folders.flatMap((folder) => ['--dir', folder]),
    ...spec.binds.flatMap(({ source, target }) => ['--bind', source, target]),
    ...spec.readOnly.flatMap((file) => ['--ro-bind', file, file]),
    ...spec.links.flatMap(({ source, target }) => ['--symlink', source, target]),
    '--die-with-parent',
    ...(spec.terminal ? [] : ['--new-session']),
    ...Object.entries(spec.shown).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', '/', '--seccomp', String(seccompFd), '--json-status-fd', String(statusFd), '--'],
    ...owner(spec.user),
    ...command,
  ];
  return {
    file: argv[0]!,
    args: argv.slice(1),
    env: { PATH: systemPath, ...spec.env, TMPDIR: tetherPlace },
    fds: [{ fd: seccompFd, content: new Uint8Array(filter) }],
    statusFd,
  };
}

/** Starts it. Only the main thread may call it, as with spawnConfined. */
export function spawnTethered(
  spec: TetherSpec,
  command: readonly string[],
  options: SpawnOptions,
): Promise<Confined> {
  return spawnBuilt(tetheredCommand(spec, command), options);
}

/** The change of user takes the tether away: it is tied again. */
function owner(user: TetherSpec['user']): string[] {
  if (user === undefined || process.getuid?.() !== 0 || user.uid === 0) return [];
  const words = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--inh-caps=-all'];
  return [program('setpriv'), ...words, '--bounding-set=-all', '--pdeathsig=KILL', '--'];
}
