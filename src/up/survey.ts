/** Everything that is decided before anything is made. */
import { checkLocations, configPath, loadConfig } from '../config/load.ts';
import type { Snapshot } from '../config/types.ts';
import { assertRunnable, loadDescriptor, type Descriptor } from '../harness/descriptor.ts';
import { containerPlatform, type Platform } from '../harness/platform.ts';
import { cacheDir, configDir, homeDir, sessionsDir, stateDir } from '../paths.ts';
import { packageFolder } from '../places.ts';
import { chooseRuntime, parseRuntime, type Choice } from './choose.ts';
import { recall } from './memory.ts';
import type { UpOptions, UpWorld } from './options.ts';
import { ownDefinition, wantsOwn } from './own-definition.ts';
import { homePath } from './plan.ts';
import type { ApprovedDefinition } from './runtime/runtime.ts';
import { checkName } from './session.ts';
import { resolveWorkspace, type Workspace } from './workspace.ts';

export type Ground = {
  readonly snapshot: Snapshot;
  /** As it was named, links and all: a gateway follows it when they are switched. */
  readonly configFile: string;
  readonly workspace: Workspace;
  readonly descriptor: Descriptor;
  readonly choice: Choice;
  readonly home: string;
  /** The workspace's own definition, where it was asked for. */
  readonly approved: ApprovedDefinition | null;
};

/** Reads and checks what the operator said; throws WraptoolError at the first thing that cannot be. */
export async function survey(
  options: UpOptions,
  world: UpWorld,
  approved: ApprovedDefinition | null,
): Promise<Ground> {
  if (options.name !== undefined) checkName(options.name);
  const own = approved === null ? undefined : 'devcontainer';
  const asked = own ?? (options.runtime === undefined ? null : parseRuntime(options.runtime));
  const descriptor = await loadDescriptor(options.harness, world.env);
  assertRunnable(descriptor);
  const workspace = await workspaceOf(options, world);
  const home = homePath(world.env, options.harness, workspace.path, options.home);
  const snapshot = await loadConfig({ path: options.config, env: world.env });
  const roots = [workspace.path, ...snapshot.config.up.extra_roots];
  await checkLocations(
    snapshot,
    [...roots, home],
    [sessionsDir(world.env), stateDir(world.env), cacheDir(world.env)],
  );
  const last = (await recall(world.env, workspace.path)).runtime;
  const choice = await chooseRuntime(asked ?? parseRuntime(snapshot.config.up.runtime), last, {
    baseImage: approved === null ? snapshot.config.up.base_image : null,
    workspace: workspace.path,
  });
  const configFile = configPath({ path: options.config, env: world.env });
  return { snapshot, configFile, workspace, descriptor, choice, home, approved };
}

/**
 * The workspace's own definition, where the operator asked for it. Before anything else, and outside of any progress: it
 * may ask. Errors: as ownDefinition.
 */
export async function approvedFor(options: UpOptions, world: UpWorld): Promise<ApprovedDefinition | null> {
  if (!wantsOwn(options)) return null;
  return ownDefinition((await workspaceOf(options, world)).path, options, world);
}

function workspaceOf(options: UpOptions, world: UpWorld): Promise<Workspace> {
  return resolveWorkspace({
    flag: options.workspace,
    cwd: world.cwd,
    home: homeDir(world.env),
    stateDirs: [stateDir, sessionsDir, configDir, cacheDir].map((folder) => folder(world.env)),
    programs: [packageFolder, process.execPath],
  });
}

/** The machine that a harness is installed for: a container's, which brings a C library of its own, or this one. */
export function platformFor({ choice }: Ground): Platform | undefined {
  return choice.runtime.name === 'bubblewrap' ? undefined : containerPlatform();
}
