/**
 * The image of an approved definition, built from the copy that was taken at approval. What builds it sees that copy and
 * never the workspace. Only what an image is made of goes into it: rights, mounts and commands do not.
 */
import { createHash } from 'node:crypto';
import { cp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Json } from '../../devcontainer/jsonc.ts';
import { own, type JsonObject } from '../../devcontainer/values.ts';
import { substituteAll } from '../../devcontainer/variables.ts';
import { buildCommand, runCli } from './devcontainer-cli.ts';
import type { Engine } from './docker.ts';
import type { ApprovedDefinition, LaunchSpec, Progress } from './runtime.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type BuildPlan = {
  readonly image: string;
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
  host: { readonly env: Env; readonly folder: string; readonly cli: string; readonly dockerPath: string },
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
  const image = `wraptool-approved:${key.slice(0, 16)}`;
  // The CLI takes no other name; the folder stays, for what the definition names is relative to it.
  const name = path.basename(approved.name);
  const config = path.join(
    folder,
    path.dirname(approved.name),
    ['devcontainer.json', '.devcontainer.json'].includes(name) ? name : 'devcontainer.json',
  );
  return {
    image,
    definition,
    folder,
    config,
    command: buildCommand(host.cli, { folder, config, image, dockerPath: host.dockerPath }),
  };
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
  } finally {
    await rm(plan.folder, { recursive: true, force: true });
  }
  return plan.image;
}

/** What the host's variables put into the build: another value is another image. */
function hostValues(approved: ApprovedDefinition, env: Env): Json {
  return taken.map((name) => substituteAll(own(approved.given, name) ?? null, { workspace: '/', env }));
}
