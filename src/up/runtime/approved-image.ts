/**
 * The image of an approved definition, built from the copy that was taken at approval. What builds it sees that copy and
 * never the workspace. Only what an image is made of goes into it: rights, mounts and commands do not.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { approvals } from '../../devcontainer/approval.ts';
import type { Json } from '../../devcontainer/jsonc.ts';
import { own, type JsonObject } from '../../devcontainer/values.ts';
import { substituteAll } from '../../devcontainer/variables.ts';
import { stateDir } from '../../paths.ts';
import { isGone } from '../gone.ts';
import { buildCommand, runCli } from './devcontainer-cli.ts';
import type { Engine, LabelledImage } from './docker.ts';
import type { ApprovedDefinition, LaunchSpec, Progress } from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

const repository = 'wraptool-approved';
/** The hash that was approved; whose approval it was. */
const approvalLabel = 'wraptool.approval';
const keeperLabel = 'wraptool.approved-in';

export type BuildPlan = {
  readonly image: string;
  /** What the CLI builds it as: it labels only some of what it builds. */
  readonly building: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What the CLI is given as the definition. */
  readonly definition: JsonObject;
  readonly command: readonly string[];
  readonly folder: string;
  readonly config: string;
};

const taken = [
  'image',
  'build',
  'dockerFile',
  'context',
  'features',
  'overrideFeatureInstallOrder',
  'remoteUser',
  'containerUser',
];

export function planBuild(
  approved: ApprovedDefinition,
  host: {
    readonly env: Env;
    readonly folder: string;
    readonly cli: string;
    readonly dockerPath: string;
    /** The session's id. */
    readonly id?: string;
  },
): BuildPlan {
  const folder = path.join(host.folder, 'approved');
  const definition: JsonObject = {};
  for (const name of taken) {
    const value = own(approved.given, name);
    // Every variable replaced, so that nothing is left for the CLI to replace.
    if (value !== undefined) definition[name] = substituteAll(value, { workspace: folder, env: host.env });
  }
  const key = createHash('sha256')
    .update(JSON.stringify([approved.hash, hostValues(approved, host.env)]))
    .digest('hex');
  const building = buildingName(host.id ?? key.slice(0, 16));
  // The CLI takes no other name; the folder stays, for what the definition names is relative to it.
  const name = path.basename(approved.name);
  const config = path.join(
    folder,
    path.dirname(approved.name),
    ['devcontainer.json', '.devcontainer.json'].includes(name) ? name : 'devcontainer.json',
  );
  return {
    image: `${repository}:${key.slice(0, 16)}`,
    building,
    labels: { [approvalLabel]: approved.hash, [keeperLabel]: keeper(host.env) },
    definition,
    folder,
    config,
    command: buildCommand(host.cli, { folder, config, image: building, dockerPath: host.dockerPath }),
  };
}

/** Name under which a session's image is built. */
export function buildingName(id: string): string {
  return `${repository}:building-${id}`;
}

/** Several users, and several state folders of one, may share an engine: which approvals an image stands for. */
function keeper(env: Env): string {
  return createHash('sha256').update(stateDir(env)).digest('hex').slice(0, 16);
}

/** Builds what is missing; the image's name. Errors: runtime_failed. */
export async function buildApproved(
  engine: Engine,
  approved: ApprovedDefinition,
  plan: BuildPlan,
  host: { readonly env: Env; readonly folder: string; readonly spec: LaunchSpec },
  progress: Progress,
  signal: AbortSignal,
): Promise<string> {
  if ((await engine.imageId(plan.image)) !== null) return plan.image;
  progress('building the image of the approved definition');
  await cp(approved.copy, plan.folder, { recursive: true, dereference: false });
  await writeFile(plan.config, `${JSON.stringify(plan.definition, null, 2)}\n`, { mode: 0o600 });
  const request = { folder: host.folder, sessionId: host.spec.session.id, socketPath: engine.socketPath };
  try {
    await runCli(plan.command, request, host.env, progress, signal);
    await named(engine, plan, host.folder, signal);
  } finally {
    await rm(plan.folder, { recursive: true, force: true });
    await engine.removeImage(plan.building);
  }
  return plan.image;
}

/** The name is given last, to an image that tells whose it is. */
async function named(engine: Engine, plan: BuildPlan, parent: string, signal: AbortSignal): Promise<void> {
  const folder = path.join(parent, 'label');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    await writeFile(path.join(folder, 'Dockerfile'), `FROM ${plan.building}\n`, { mode: 0o600 });
    await engine.build(
      folder,
      { tag: plan.image, args: {}, labels: { ...plan.labels } },
      () => undefined,
      signal,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Images of approved definitions that no approval names any more, or none of a workspace that is still there; with `all`,
 * all of this user's. Those of other users, and those that are being built, are not among them, nor one that a container is of.
 */
export async function unusedApproved(
  engine: Engine,
  env: Env,
  all: boolean,
): Promise<readonly LabelledImage[]> {
  const wanted = all ? new Set<string>() : await approvedHashes(env);
  const found = await engine.imagesOf(repository);
  return found.filter(({ name, labels, used }) => {
    if (used || name.startsWith(buildingName(''))) return false;
    const whose = labels[keeperLabel];
    if (whose !== undefined && whose !== keeper(env)) return false;
    return !wanted.has(labels[approvalLabel] ?? '');
  });
}

async function approvedHashes(env: Env): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const { workspace, hash } of await approvals(env)) if (!(await isGone(workspace))) found.add(hash);
  return found;
}

/** What the host's variables put into the build: another value is another image. */
function hostValues(approved: ApprovedDefinition, env: Env): Json {
  return taken.map((name) => substituteAll(own(approved.given, name) ?? null, { workspace: '/', env }));
}
