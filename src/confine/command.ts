import { WraptoolError } from '../errors.ts';
import { argsFd, networkFd, resolverFd, seccompFd, statusFd } from './fds.ts';
import { checkPaths, groupShares } from './paths.ts';
import { program, systemPath } from './program.ts';
import { seccompFilter } from './seccomp.ts';
import { stage } from './stage.ts';
import { baseSystem } from './system.ts';
import type { ConfinedCommand, ConfineSpec } from './types.ts';

/** Address of the resolver inside a private network, for both helpers. */
export const privateResolver = '10.0.2.3';

/** An empty network until the word comes; the end of the input means that the starter is dead. */
const awaitNetwork = `echo ready >&${networkFd}; read -r word <&${networkFd} && [ "$word" = go ] || exit 125; exec ${networkFd}>&-; exec "$@"`;

/**
 * The one place that builds a bubblewrap command line. The environment goes through a descriptor, never through
 * the command line. `command` is an absolute argv inside. With `status`, bubblewrap reports on `statusFd`.
 * Throws confine_unavailable (a program is missing, wrong owner) and workspace_refused (a link in a writable folder).
 */
export function confinedCommand(
  spec: ConfineSpec,
  command: readonly string[],
  options: { status?: boolean } = {},
): ConfinedCommand {
  checkPaths(spec);
  const seccomp = seccompFilter({
    nestedSandboxes: spec.nestedSandboxes ?? false,
    setgid: spec.writable.some(({ source }) => groupShares(source)),
  });
  const fds = [
    { fd: argsFd, content: environmentArgs(spec.env) },
    { fd: seccompFd, content: new Uint8Array(seccomp) },
  ];
  if (spec.network === 'private') {
    fds.push({ fd: resolverFd, content: Buffer.from(`nameserver ${privateResolver}\n`) });
  }
  const { prefix, spec: reachable } = stage(spec);
  const argv = [
    ...networkHolder(spec),
    ...(spec.terminal ? [program('env'), '--ignore-signal=INT,QUIT'] : []),
    ...limitsBefore(spec),
    ...prefix,
    ...owner(spec),
    program('bwrap'),
    ...namespaces(spec),
    ...mounts(reachable),
    '--chdir',
    spec.cwd,
    '--clearenv',
    '--args',
    String(argsFd),
    '--seccomp',
    String(seccompFd),
    ...(options.status === true ? ['--json-status-fd', String(statusFd)] : []),
    '--',
    ...(spec.terminal ? [program('env'), '--default-signal=INT,QUIT'] : []),
    ...limitsInside(spec),
    ...command,
  ];
  return {
    file: argv[0]!,
    args: argv.slice(1),
    env: { PATH: systemPath, LANG: 'C.UTF-8' },
    fds,
    ...(options.status === true ? { statusFd } : {}),
    ...(spec.network === 'private' ? { networkFd } : {}),
  };
}

function environmentArgs(env: Readonly<Record<string, string>>): Buffer {
  const words: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=') || name.includes('\0') || value.includes('\0')) {
      throw new WraptoolError('internal', `'${name}' cannot be an environment variable`);
    }
    words.push('--setenv', name, value);
  }
  return Buffer.from(words.map((word) => `${word}\0`).join(''));
}

function namespaces(spec: ConfineSpec): string[] {
  const out = ['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup'];
  // A private network is one already: the holder made it, and bubblewrap stays in it.
  if (spec.network === 'none') out.push('--unshare-net');
  out.push('--cap-drop', 'ALL', '--die-with-parent');
  if (!spec.terminal) out.push('--new-session');
  if (spec.hostname !== undefined) out.push('--hostname', spec.hostname);
  return out;
}

function mounts(spec: ConfineSpec): string[] {
  const out = baseSystem({
    hostResolver: spec.network === 'host',
    asRoot: (spec.user?.uid ?? process.getuid?.()) === 0,
    tmpBytes: spec.limits?.tmpBytes ?? null,
  });
  if (spec.network === 'private')
    out.push('--perms', '0444', '--ro-bind-data', String(resolverFd), '/etc/resolv.conf');
  for (const bind of spec.readOnly) out.push('--ro-bind', bind.source, bind.target);
  for (const bind of spec.writable) out.push('--bind', bind.source, bind.target);
  for (const bind of spec.readOnlyOver ?? []) out.push('--ro-bind', bind.source, bind.target);
  for (const link of spec.links ?? []) out.push('--symlink', link.source, link.target);
  // Last: the root is a tmpfs in which mount points had to be made.
  out.push('--remount-ro', '/');
  return out;
}

function networkHolder(spec: ConfineSpec): string[] {
  if (spec.network !== 'private') return [];
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user'];
  return [program('unshare'), ...own, '--net', '--', program('sh'), '-c', awaitNetwork, 'wait-for-network'];
}

function owner(spec: ConfineSpec): string[] {
  if (spec.user === undefined) return [];
  const { uid, gid } = spec.user;
  if (process.getuid?.() === uid && process.getgid?.() === gid) return [];
  if (process.getuid?.() !== 0) {
    throw new WraptoolError('confine_unavailable', `only root can run as uid ${uid}, gid ${gid}`, {
      hint: `start as that user`,
    });
  }
  return [program('setpriv'), `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--inh-caps=-all', '--'];
}

function limitsBefore(spec: ConfineSpec): string[] {
  const { addressSpaceBytes, fileSizeBytes, cpuSeconds } = spec.limits ?? {};
  const out: string[] = [];
  if (addressSpaceBytes !== undefined) out.push(`--as=${addressSpaceBytes}`);
  if (fileSizeBytes !== undefined) out.push(`--fsize=${fileSizeBytes}`);
  if (cpuSeconds !== undefined) out.push(`--cpu=${cpuSeconds}`);
  if (out.length === 0) return [];
  return [program('prlimit'), '--core=0', ...out, '--'];
}

/** Set in the new user namespace, where the kernel counts the sandbox's own processes and not all of the owner's. */
function limitsInside(spec: ConfineSpec): string[] {
  const processes = spec.limits?.processes;
  return processes === undefined ? [] : [program('prlimit'), `--nproc=${processes}`, '--'];
}
