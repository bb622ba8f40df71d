/** devcontainer.json of one session: the default definition with what this session needs. Pure. */
import type { Bind } from '../../confine/types.ts';
import { WraptoolError } from '../../errors.ts';
import type { WorkspaceMounts } from './mounts.ts';
import type { Grants } from './grants.ts';
import { inside, type LaunchSpec } from './runtime.ts';

export type Definition = Readonly<Record<string, unknown>>;
export type Mount = { readonly source: string; readonly target: string; readonly writable: boolean };

/** Networks of the engine for our words. */
export const engineNetwork = { private: 'bridge', host: 'host', none: 'none' } as const;

/**
 * The account that the container's own first process and its guard run as. It is not the harness's: the harness can then
 * neither end nor stop them. It has no name, no files and no capabilities.
 */
export function keeperId(workspaceUid: number): number {
  return workspaceUid === 65533 ? 65532 : 65533;
}

/** All that is mounted, parents first. */
export function mountsOf(spec: LaunchSpec, workspace: WorkspaceMounts): readonly Mount[] {
  const as = (binds: readonly Bind[], writable: boolean): Mount[] =>
    binds.map((bind) => ({ ...bind, writable }));
  return [
    ...as([{ source: spec.home, target: inside.home }], true),
    ...as([{ source: spec.socketDir, target: inside.socketDir }], false),
    ...as(spec.readOnly, false),
    ...as(workspace.readOnly, false),
    ...as(workspace.writable, true),
    ...as(workspace.readOnlyOver, false),
  ];
}

/**
 * `given` is devcontainer/devcontainer.json, parsed; `granted`, what an approved definition adds to it. Errors: workspace_refused for
 * paths that the CLI would rewrite.
 */
export function definition(
  given: Definition,
  spec: LaunchSpec,
  image: string,
  mounts: readonly Mount[],
  granted?: Grants,
): Definition {
  const { build: _replaced, runArgs, ...rest } = given;
  const keeper = keeperId(spec.workspace.uid);
  const [own, others] = [
    mounts.filter(isWorkspace(spec)),
    mounts.filter((mount) => !isWorkspace(spec)(mount)),
  ];
  return {
    ...rest,
    name: containerName(spec.session.name),
    image,
    workspaceFolder: spec.workspace.path,
    workspaceMount: own.map(mountText)[0],
    runArgs: [
      ...(runArgs as string[]),
      ...(granted?.args ?? []),
      `--name=${containerName(spec.session.name)}`,
      ...(granted?.hostname === false ? [] : [`--hostname=${spec.session.name}`]),
      ...(granted?.network == null ? [`--network=${engineNetwork[spec.network]}`] : []),
      `--user=${keeper}:${keeper}`,
      // Not as `mounts`: the CLI takes two of them for one where their targets are alike up to a comma.
      ...others.map((mount) => `--mount=${mountText(mount)}`),
    ],
  };
}

export function containerName(session: string): string {
  return `wraptool-${session}`;
}

function isWorkspace(spec: LaunchSpec): (mount: Mount) => boolean {
  return (mount) => mount.target === spec.workspace.path;
}

/** One line of CSV, as the engine's client reads --mount: quoted, so that commas and quotes are only letters. */
function mountText(mount: Mount): string {
  for (const path of [mount.source, mount.target]) checkPath(path);
  const fields = ['type=bind', `source=${mount.source}`, `target=${mount.target}`];
  if (!mount.writable) fields.push('readonly');
  return fields.map((field) => (/[",]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',');
}

/** Refused: control characters, and `${`, which the Dev Containers CLI would replace. */
function checkPath(path: string): void {
  // oxlint-disable-next-line no-control-regex
  const bad = /[\u0000-\u001f\u007f]/.test(path)
    ? 'a control character'
    : path.includes('${')
      ? '"${"'
      : null;
  if (bad === null) return;
  throw new WraptoolError(
    'workspace_refused',
    `${JSON.stringify(path)} cannot be mounted by the devcontainer runtime: it has ${bad} in it`,
    {
      hint: 'rename the folder, or use --runtime bubblewrap',
    },
  );
}
