/** An installation is made aside, sealed, recorded, and renamed into place: whoever looks sees a whole one or none. */
import { mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sealTree, treeDigest } from './tree.ts';

/** `dir` is `parent/name`. */
export type Place = { readonly parent: string; readonly dir: string; readonly name: string };

/**
 * To be called under the place's lock: whatever lies aside was left by a process that died. `fill` puts the tree into
 * its first folder, may use the second for what is thrown away, and gives the receipt's facts.
 */
export async function publish(
  place: Place,
  fill: (tree: string, scratch: string) => Promise<object>,
): Promise<void> {
  const prefix = `.${place.name}.new-`;
  for (const name of await readdir(place.parent))
    if (name.startsWith(prefix)) await discard(path.join(place.parent, name));
  const aside = await mkdtemp(path.join(place.parent, prefix));
  try {
    const [tree, scratch, ready] = ['tree', 'scratch', 'ready'].map((name) => path.join(aside, name)) as [
      string,
      string,
      string,
    ];
    for (const dir of [tree, scratch, ready]) await mkdir(dir, { mode: 0o755 });
    const facts = await fill(tree, scratch);
    await sealTree(tree);
    await rename(tree, path.join(ready, 'tree'));
    const receipt = {
      receipt: 1,
      ...facts,
      tree: await treeDigest(path.join(ready, 'tree')),
      installed: new Date().toISOString(),
    };
    await writeDurably(path.join(ready, 'install.json'), `${JSON.stringify(receipt, null, 2)}\n`);
    if (await exists(place.dir)) await rename(place.dir, path.join(aside, 'old'));
    await rename(ready, place.dir);
  } finally {
    await discard(aside);
  }
}

export async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function writeDurably(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o644, flag: 'wx' });
  await using handle = await open(file, 'r');
  await handle.sync();
}

/** Removes a folder whose content is not trusted; links in it are removed, not followed. */
export async function discard(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 2 });
}
