/** Proof that the container is the one that was asked for: image metadata, CLI or engine could have made it another. */
import { WraptoolError } from '../../errors.ts';
import { engineNetwork, keeperId, type Mount } from './devcontainer-definition.ts';
import type { ContainerView, Engine } from './docker.ts';
import type { Grants } from './grants.ts';
import type { Identity } from './mounts.ts';
import type { LaunchSpec } from './runtime.ts';

/** Errors: runtime_failed, naming all that differs. */
export async function checkContainer(
  engine: Engine,
  id: string,
  spec: LaunchSpec,
  mounts: readonly Mount[],
  granted?: Grants,
): Promise<void> {
  const found = await engine.container(id);
  if (found === null || !found.running)
    throw new WraptoolError('runtime_failed', `the container ${id.slice(0, 12)} ended at once`);
  const problems = [
    ...differences(found, spec, granted),
    ...mountDifferences(found.mounts.filter(notGranted(mounts, granted)), mounts),
  ];
  if (problems.length === 0) return;
  throw new WraptoolError('runtime_failed', 'the container is not the one that was asked for', {
    problems,
    hint: 'nothing ran in it; report this together with the versions of Docker and of up.base_image',
  });
}

function differences(found: ContainerView, spec: LaunchSpec, granted?: Grants): string[] {
  const keeper = keeperId(spec.workspace.uid);
  const wanted: readonly [string, boolean][] = [
    ['it is privileged', !found.privileged || granted?.privileged === true],
    [
      `it has capabilities: ${found.capAdd.join(' ')}`,
      found.capAdd.every((one) => hasCapability(granted, one)),
    ],
    ['it keeps capabilities', found.capDrop.includes('ALL')],
    [
      `its security options are ${found.securityOpt.join(' ')}`,
      onlyNoNewPrivileges(found.securityOpt, granted),
    ],
    ['it is not removed at its end', found.autoRemove],
    [`its network is ${found.network}`, networkNames(spec.network, granted).includes(found.network)],
    [`its user is ${found.user}`, found.user === `${keeper}:${keeper}`],
    [`it shares processes: ${found.pidMode}`, found.pidMode === ''],
    [`it shares memory: ${found.ipcMode}`, ['', 'private', granted?.ipc].includes(found.ipcMode)],
    [
      'a secret is in its configuration',
      ![...spec.secretEnv].some((name) => found.env.some((pair) => pair.startsWith(`${name}=`))),
    ],
  ];
  return wanted.filter(([, good]) => !good).map(([problem]) => problem);
}

/** The engine names a filter by its content, so one of a file is only counted. */
function onlyNoNewPrivileges(options: readonly string[], granted?: Grants): boolean {
  const others = options.filter((option) => !/^no-new-privileges(:true)?$/.test(option));
  const allowed = new Set(granted?.securityOpt);
  const filter = [...allowed].some((option) => /^seccomp[=:]/.test(option));
  // A privileged container is one without confinement by labels.
  const fine = (option: string): boolean =>
    allowed.has(option) ||
    (filter && option.startsWith('seccomp=')) ||
    (granted?.privileged === true && option === 'label=disable');
  return others.length < options.length && others.every(fine);
}

function hasCapability(granted: Grants | undefined, name: string): boolean {
  const bare = (text: string): string => text.toUpperCase().replace(/^CAP_/, '');
  return granted !== undefined && granted.capAdd.map(bare).includes(bare(name));
}

/** What an approved definition mounts, and the volumes that its image declares, are beside ours and never in their place. */
function notGranted(ours: readonly Mount[], granted?: Grants) {
  const taken = new Set(ours.map((mount) => mount.target));
  return (mount: ContainerView['mounts'][number]): boolean =>
    granted === undefined ||
    taken.has(mount.target) ||
    !(granted.targets.includes(mount.target) || mount.kind === 'volume');
}

function mountDifferences(found: readonly Mount[], wanted: readonly Mount[]): string[] {
  const text = (mount: Mount): string =>
    `${mount.source} at ${mount.target}, ${mount.writable ? 'writable' : 'read-only'}`;
  const [have, want] = [new Set(found.map(text)), new Set(wanted.map(text))];
  return [
    ...[...want].filter((one) => !have.has(one)).map((one) => `not mounted: ${one}`),
    ...[...have].filter((one) => !want.has(one)).map((one) => `mounted beside: ${one}`),
  ];
}

/** A shell script, with its arguments, that fails at the first folder that is not the one that was judged. */
export function identityScript(folders: readonly Identity[]): readonly string[] {
  const script =
    'while [ $# -gt 0 ]; do [ "$(stat -c %d:%i -- "$2")" = "$1" ] || { echo "another folder is mounted at $2"; exit 1; }; shift 2; done';
  return [script, 'sh', ...folders.flatMap((folder) => [`${folder.dev}:${folder.ino}`, folder.path])];
}

/** The engine's default network is the bridge; clients name it either way. */
function networkNames(network: LaunchSpec['network'], granted?: Grants): readonly string[] {
  if (granted?.network != null) return [granted.network, 'default'];
  return network === 'private' ? [engineNetwork.private, 'default'] : [engineNetwork[network]];
}
