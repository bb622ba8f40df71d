/** A client that npm alone cannot provide: the operator brings its file, once. */
import type { Stats } from 'node:fs';
import { cp, mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { cacheDir } from '../paths.ts';
import { takeLock } from './lock.ts';
import { exists, publish, type Place } from './publish.ts';
import type { DescriptorData, ManualInstall } from './schema.ts';
import { treeDigest } from './tree.ts';

type Env = Readonly<Record<string, string | undefined>>;

export function manualPlace(descriptor: DescriptorData, env: Env): Place {
  const parent = path.join(cacheDir(env), 'harnesses', descriptor.name);
  return { parent, dir: path.join(parent, 'local'), name: 'local' };
}

/** Error: harness_install_failed, with how to provide it, where it is not there or not as it was brought. */
export async function assertBrought(
  descriptor: DescriptorData,
  manual: ManualInstall,
  place: Place,
): Promise<void> {
  const tree = path.join(place.dir, 'tree');
  const recorded = await recordedTree(place);
  if (recorded !== null && (await exists(tree)) && (await treeDigest(tree)) === recorded) return;
  const what =
    recorded === null
      ? 'is not installed, and npm alone cannot provide it'
      : 'was changed since it was installed';
  throw new WraptoolError('harness_install_failed', `"${descriptor.name}" ${what}`, {
    hint: `${manual.how}; then: wraptool harness install ${descriptor.name} --from FILE`,
  });
}

async function recordedTree({ dir }: Place): Promise<string | null> {
  try {
    const receipt = JSON.parse(await readFile(path.join(dir, 'install.json'), 'utf8')) as { tree?: unknown };
    return typeof receipt.tree === 'string' ? receipt.tree : '';
  } catch (error) {
    if (error instanceof SyntaxError) return '';
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Takes a copy of the operator's file, or of the folder that it lies in. Error: usage where the client is not of that kind, or the file is none. */
export async function bring(
  descriptor: DescriptorData,
  from: string,
  env: Env,
  signal: AbortSignal,
): Promise<string> {
  const manual = descriptor.install?.manual;
  if (manual === undefined)
    throw new WraptoolError('usage', `"${descriptor.name}" is not brought by hand`, {
      hint: 'leave out --from',
    });
  await assertProgram(from, manual.file);
  const place = manualPlace(descriptor, env);
  await mkdir(place.parent, { recursive: true, mode: 0o755 });
  const lock = await takeLock(path.join(place.parent, `.${place.name}.lock`), signal, () => undefined);
  try {
    await publish(place, async (tree) => {
      const folder = (await stat(from)).isDirectory();
      await cp(from, folder ? tree : path.join(tree, manual.file), {
        recursive: true,
        verbatimSymlinks: true,
      });
      return { file: manual.file, from: path.resolve(from) };
    });
  } finally {
    await lock.release();
  }
  return path.join(place.dir, 'tree');
}

/** Error: usage where it is neither a program nor a folder with the program in it. */
async function assertProgram(from: string, inFolder: string): Promise<void> {
  const given = await factsOf(from);
  const program = given.isDirectory() ? path.join(from, inFolder) : from;
  const facts = given.isDirectory() ? await factsOf(program) : given;
  if (facts.isFile() && (facts.mode & 0o111) !== 0) return;
  throw new WraptoolError('usage', `"${program}" is no executable file`, {
    hint: 'name the program itself, unpacked, or the folder that it was unpacked to; `chmod +x` makes it executable',
  });
}

function factsOf(file: string): Promise<Stats> {
  return stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new WraptoolError('usage', `"${file}" cannot be read: ${error.message}`, { cause: error });
  });
}
