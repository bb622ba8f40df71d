/** Everything derived from one snapshot. A call holds the one that it began with; a reload puts another in its place. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Snapshot, ToolConfig } from '../config/types.ts';
import { resolveBinary } from '../executor/binary.ts';
import { childEnvironment } from '../executor/environment.ts';
import type { GuardOptions, ResolvedBinary, SharedFolder } from '../executor/types.ts';
import { homeDir } from '../paths.ts';
import type { Policy } from '../policy/compile.ts';
import { overlay, type Overlay } from '../requests/overlay.ts';
import type { Grant } from '../requests/types.ts';
import { configuredScrubber } from '../scrub/configured.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { resolveRoots, resolveWorkingDir, type Root } from './cwd.ts';
import { buildRegistry, type Registry } from './registry.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What the operator's machine and the session add to a config. */
export type Surroundings = {
  readonly env: Env;
  /** Folders that the agent may write in: no binary may lie there. */
  readonly agentWritable: readonly string[];
  /** The only cwd roots of a session; null takes the config's. */
  readonly roots: readonly string[] | null;
  /** Pinned by `up` for its workspace; the config's own pins win. */
  readonly remotes: Readonly<Record<string, string>>;
  /** Folders of a repository that a session shares beside its workspace, which is the first of its roots. */
  readonly shared: readonly SharedFolder[];
  /** Private folder for guards, outside every root; each workspace gets one in it. */
  readonly guardState: string;
  /** Never to be seen in any output. */
  readonly token: string;
};

export type ActiveTool = {
  readonly config: ToolConfig;
  readonly binary: ResolvedBinary;
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string | null;
  guardOptions(workspace: string): GuardOptions;
};

export type Active = {
  readonly snapshot: Snapshot;
  /** What is registered: by the config, and by grants. */
  readonly registry: Registry;
  readonly listed: Policy;
  /** What grants allow beside the config, each by itself. */
  readonly overlays: readonly Overlay[];
  /** Ids of the grants that it was made with. */
  readonly granted: readonly string[];
  readonly roots: readonly Root[];
  readonly tools: ReadonlyMap<string, ActiveTool>;
  readonly scrubber: Scrubber;
  readonly scrub: (text: string) => string;
};

/** Resolves what a snapshot names; throws WraptoolError binary_invalid, config_invalid. */
export async function activate(
  snapshot: Snapshot,
  around: Surroundings,
  grants: readonly Grant[] = [],
): Promise<Active> {
  const { config } = snapshot;
  const scrubber = scrubberFor(snapshot, around);
  const tools = new Map<string, ActiveTool>();
  for (const [name, tool] of Object.entries(config.tools)) tools.set(name, await activateTool(tool, around));
  return Object.freeze({
    snapshot,
    ...grantedBy(snapshot, grants, around.env),
    roots: await resolveRoots(around.roots ?? config.mcp.allowed_cwd_roots),
    tools,
    scrubber,
    scrub: (text: string) => scrubber.scrub(text),
  });
}

/** The same config with other grants. */
export function withGrants(active: Active, grants: readonly Grant[], env: Env): Active {
  return Object.freeze({ ...active, ...grantedBy(active.snapshot, grants, env) });
}

function grantedBy(
  snapshot: Snapshot,
  grants: readonly Grant[],
  env: Env,
): Pick<Active, 'registry' | 'listed' | 'overlays' | 'granted'> {
  const { overlays, listed } = overlay(snapshot, grants, env);
  return {
    registry: buildRegistry({ config: snapshot.config, policy: listed }),
    listed,
    overlays,
    granted: grants.map(({ id }) => id),
  };
}

async function activateTool(config: ToolConfig, around: Surroundings): Promise<ActiveTool> {
  return {
    config,
    binary: await resolveBinary(config.binary, around.agentWritable),
    env: childEnvironment({ home: homeDir(around.env), configured: config.env }),
    workingDir: config.working_dir === null ? null : await resolveWorkingDir(config.working_dir),
    guardOptions: (workspace) => ({
      workspace,
      remotes: { ...around.remotes, ...config.remotes },
      stateDir: path.join(
        around.guardState,
        createHash('sha256').update(workspace).digest('hex').slice(0, 12),
      ),
      ...(workspace === around.roots?.[0] ? { shared: around.shared } : {}),
      homeFiles: config.home_files,
      confine: config.confine,
    }),
  };
}

function scrubberFor({ config }: Snapshot, { env, token }: Surroundings): Scrubber {
  return configuredScrubber(config.scrub, env, [{ name: config.mcp.token_env, value: token }]);
}
