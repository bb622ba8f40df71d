/** An installed harness: the one that is there, or a new one made aside and renamed into place. */
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { cacheDir } from '../paths.ts';
import { install } from './install.ts';
import { takeLock } from './lock.ts';
import { assertBrought, manualPlace } from './manual.ts';
import { foreign, platformName, type Platform } from './platform.ts';
import { exists, publish, type Place } from './publish.ts';
import { versionShape, type DescriptorData } from './schema.ts';
import { treeDigest } from './tree.ts';
import type { Provided } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ProvideOptions = {
  /** Exact version; the descriptor's own where absent. */
  readonly version?: string | undefined;
  /** The machine that it is for; this one where absent. */
  readonly platform?: Platform | undefined;
  readonly env: Env;
  readonly confineInstall: 'auto' | 'none';
  readonly progress: (message: string) => void;
  readonly signal: AbortSignal;
};

/** Where the installation is seen inside every runtime (`inside.harness`). */
export const harnessMount = '/opt/wraptool/harness';

/** What VERSION/install.json says about VERSION/tree. */
type Receipt = {
  readonly receipt: 1;
  readonly package: string;
  readonly version: string;
  readonly integrity: string;
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly integrity: string | null }>
  >;
  /** treeDigest of the sealed tree. */
  readonly tree: string;
  /** ISO time. */
  readonly installed: string;
};

type Versioned = Place & { readonly version: string; readonly platform: Platform | null };

/** What `provide` would give, without looking or making; null for a harness that is not installed by wraptool. */
export function plannedInstall(
  descriptor: DescriptorData,
  options: Pick<ProvideOptions, 'version' | 'platform' | 'env'>,
): Provided | null {
  const place = placeOf(descriptor, options);
  if (place !== null) return provided(place);
  return descriptor.install?.manual === undefined ? null : brought(descriptor, options.env);
}

function brought(descriptor: DescriptorData, env: Env): Provided {
  return provided({ ...manualPlace(descriptor, env), version: 'local' });
}

/**
 * Gives the harness of that version from $XDG_CACHE_HOME/wraptool/harnesses/NAME/VERSION, installing it first where
 * it is missing or damaged. Processes that ask at once make one installation. null: nothing has to be installed.
 * Errors: usage (not a version), harness_install_failed, confine_unavailable, network_unavailable, the signal's reason.
 */
export async function provide(descriptor: DescriptorData, options: ProvideOptions): Promise<Provided | null> {
  const place = placeOf(descriptor, options);
  const manual = descriptor.install?.manual;
  if (manual !== undefined) {
    await assertBrought(descriptor, manual, manualPlace(descriptor, options.env));
    return brought(descriptor, options.env);
  }
  if (place === null) return null;
  if ((await inspect(descriptor, place)) === 'good') return provided(place);
  await mkdir(place.parent, { recursive: true, mode: 0o755 });
  const lock = await takeLock(path.join(place.parent, `.${place.name}.lock`), options.signal, () =>
    options.progress('another wraptool is installing it: waiting'),
  );
  try {
    const found = await inspect(descriptor, place);
    if (found === 'good') return provided(place);
    if (found !== 'missing') options.progress(`the installation in ${place.dir} is ${found}: making it anew`);
    await make(descriptor, place, options);
    return provided(place);
  } finally {
    await lock.release();
  }
}

function placeOf(
  descriptor: DescriptorData,
  options: Pick<ProvideOptions, 'version' | 'platform' | 'env'>,
): Versioned | null {
  const npm = descriptor.install?.npm;
  if (npm === undefined) {
    if (options.version === undefined) return null;
    throw new WraptoolError(
      'usage',
      `"${descriptor.name}" is not installed by wraptool and has no versions`,
      {
        hint: 'leave out --harness-version',
      },
    );
  }
  const version = options.version ?? npm.version;
  if (!versionShape.test(version) || version.length > 64)
    throw new WraptoolError('usage', `"${version}" is not an exact version`, {
      hint: `write it in full, such as --harness-version ${npm.version}`,
    });
  const parent = path.join(cacheDir(options.env), 'harnesses', descriptor.name);
  const platform = foreign(options.platform);
  // "@" is in no version.
  const name = platform === null ? version : `${version}@${platformName(platform)}`;
  return { parent, dir: path.join(parent, name), name, version, platform };
}

function provided({ dir, version }: Pick<Versioned, 'dir' | 'version'>): Provided {
  const tree = path.join(dir, 'tree');
  return { version, dir: tree, readOnly: [{ source: tree, target: harnessMount }] };
}

/** Compares the installation with its receipt and the descriptor. */
async function inspect(
  descriptor: DescriptorData,
  place: Versioned,
): Promise<'good' | 'missing' | 'damaged' | 'of another origin'> {
  let receipt: Receipt;
  try {
    receipt = JSON.parse(await readFile(path.join(place.dir, 'install.json'), 'utf8')) as Receipt;
  } catch (error) {
    if (error instanceof SyntaxError) return 'damaged';
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return (await exists(place.dir)) ? 'damaged' : 'missing';
  }
  const npm = descriptor.install?.npm;
  if (receipt.package !== npm?.package || receipt.version !== place.version) return 'of another origin';
  if (npm.version === place.version)
    for (const [name, expected] of Object.entries(npm.integrity)) {
      const found = receipt.packages[`node_modules/${name}`];
      if (found !== undefined && found.integrity !== expected) return 'of another origin';
    }
  const tree = path.join(place.dir, 'tree');
  return (await exists(tree)) && (await treeDigest(tree)) === receipt.tree ? 'good' : 'damaged';
}

async function make(descriptor: DescriptorData, place: Versioned, options: ProvideOptions): Promise<void> {
  const npm = descriptor.install?.npm;
  if (npm === undefined) throw new WraptoolError('internal', `"${descriptor.name}" has nothing to install`);
  const { version, platform } = place;
  if (platform !== null && npm.scripts.length > 0)
    throw new WraptoolError(
      'harness_install_failed',
      `"${npm.package}" cannot be installed for ${platformName(platform)} on this machine`,
      {
        hint: `the install scripts of ${npm.scripts.join(', ')} choose for the machine that they run on: install it on such a one`,
      },
    );
  await publish(place, async (tree, scratch) => {
    const installed = await install({
      npm,
      version,
      platform,
      tree,
      scratch,
      env: options.env,
      confine: options.confineInstall,
      progress: options.progress,
      signal: options.signal,
    });
    await checkCommand(descriptor, tree);
    return { package: npm.package, version, ...installed };
  });
}

/** The file that the descriptor wants to run must have come with the package. */
async function checkCommand(descriptor: DescriptorData, tree: string): Promise<void> {
  for (const word of descriptor.command) {
    if (!word.startsWith('%{harness}/')) continue;
    const relative = word.slice('%{harness}/'.length);
    if (await exists(path.join(tree, relative))) continue;
    throw new WraptoolError(
      'harness_install_failed',
      `the package came without "${relative}", which the descriptor runs`,
      {
        hint: 'another version may lay its files out otherwise: take the descriptor’s own, or write a descriptor for it',
      },
    );
  }
}
