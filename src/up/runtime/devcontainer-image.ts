/** The image of the default definition: the operator's base with an account for the workspace's owner. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WraptoolError } from '../../errors.ts';
import { packagePlace } from '../../places.ts';
import type { Engine, LabelledImage } from './docker.ts';
import type { LaunchSpec, Progress } from './runtime.ts';

/** Folder of the default definition. */
export const definitionFolder = packagePlace('devcontainer');

export type ImagePlan = {
  readonly name: string;
  readonly exists: boolean;
  readonly base: { readonly name: string; readonly id: string | null };
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
};

const registryMs = 5000;

const repository = 'wraptool-devcontainer';
const ownImage = 'wraptool.image';
const recipeLabel = 'wraptool.recipe';
const baseLabel = 'wraptool.base';
const baseIdLabel = 'wraptool.base-id';

/**
 * Images of ours that no container is of; with `all`, those too that the next session could use. Otherwise only those that
 * were built by another recipe, or on a base that is another one by now. `going`: names that are being removed.
 */
export async function unusedImages(
  engine: Engine,
  all: boolean,
  going: ReadonlySet<string> = new Set(),
): Promise<readonly LabelledImage[]> {
  const recipe = digest(await readRecipe());
  const labelled = await engine.images(`${ownImage}=devcontainer`);
  // An image that the operator built on one of ours, or another name of one, has our labels too.
  const found = labelled.filter(({ name, used }) => !used && name.startsWith(`${repository}:`));
  const old = await Promise.all(
    found.map(async ({ labels }) => {
      const base = labels[baseLabel];
      if (all || base === undefined || going.has(base) || labels[recipeLabel] !== recipe) return true;
      return (await engine.imageId(base)) !== labels[baseIdLabel];
    }),
  );
  return found.filter((_image, index) => old[index]);
}

function readRecipe(): Promise<string> {
  return readFile(join(definitionFolder, 'Dockerfile'), 'utf8');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** What image a session needs; its name is made of all that goes into it, so that an old one is never taken. */
export async function planImage(
  engine: Engine,
  spec: Pick<LaunchSpec, 'baseImage' | 'workspace'>,
): Promise<ImagePlan> {
  const id = await engine.imageId(spec.baseImage);
  const { uid, gid } = spec.workspace;
  const recipe = await readRecipe();
  const key = createHash('sha256')
    .update(JSON.stringify([recipe, id ?? spec.baseImage, uid, gid]))
    .digest('hex')
    .slice(0, 16);
  const name = `${repository}:${key}`;
  return {
    name,
    exists: id !== null && (await engine.imageId(name)) !== null,
    base: { name: spec.baseImage, id },
    args: { BASE: spec.baseImage, OWNER_UID: String(uid), OWNER_GID: String(gid) },
    labels: {
      [ownImage]: 'devcontainer',
      [recipeLabel]: digest(recipe),
      [baseLabel]: spec.baseImage,
      [baseIdLabel]: id ?? '',
    },
  };
}

/** Pulls and builds what is missing; the image's name. Errors: runtime_failed. */
export async function ensureImage(
  engine: Engine,
  spec: Pick<LaunchSpec, 'baseImage' | 'workspace'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<string> {
  let plan = await planImage(engine, spec);
  if (plan.base.id === null) {
    await pullBase(engine, spec.baseImage, progress, signal);
    plan = await planImage(engine, spec);
  }
  if (plan.exists) return plan.name;
  progress(`building an image from ${spec.baseImage}`);
  await engine.build(
    definitionFolder,
    { tag: plan.name, args: { ...plan.args }, labels: { ...plan.labels } },
    progress,
    signal,
  );
  return plan.name;
}

async function pullBase(
  engine: Engine,
  base: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  progress(`pulling ${base}`);
  try {
    await engine.pull(base, progress, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw missingBase(base, (error as Error).message, error);
  }
}

/** Why the base image cannot be had, or null. */
export async function baseUnavailable(engine: Engine, base: string): Promise<WraptoolError | null> {
  if ((await engine.imageId(base)) !== null) return null;
  const missing = await engine.notInRegistry(base, registryMs);
  return missing === null ? null : missingBase(base, missing);
}

function missingBase(base: string, why: string, cause?: unknown): WraptoolError {
  return new WraptoolError(
    'runtime_failed',
    `the base image "${base}" is not on this machine and cannot be pulled: ${why}`,
    {
      hint: `run "docker pull ${base}", or name in up.base_image one that "docker image ls" shows`,
      cause,
    },
  );
}
