/** An installed tree, made by programs that are not trusted: judged, made readable, and recognised again. */
import { createHash } from 'node:crypto';
import { chmod, lstat, readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';

type Entry = { readonly relative: string; readonly facts: Awaited<ReturnType<typeof lstat>> };

/** More files than this are not a client. */
const mostEntries = 200_000;

async function* walk(root: string): AsyncGenerator<Entry> {
  const folders = [''];
  let count = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of (await readdir(path.join(root, folder))).sort()) {
      const relative = path.join(folder, name);
      const facts = await lstat(path.join(root, relative));
      count += 1;
      if (count > mostEntries)
        throw new WraptoolError(
          'harness_install_failed',
          `the installation has more than ${mostEntries} files`,
        );
      yield { relative, facts };
      if (facts.isDirectory()) folders.push(relative);
    }
  }
}

/**
 * Refuses what is neither file, folder nor link (links are read only inside, where they lead nowhere new), and makes
 * the rest readable for whoever the harness runs as, writable for nobody, without set-id bits.
 */
export async function sealTree(root: string): Promise<void> {
  for await (const { relative, facts } of walk(root)) {
    if (facts.isSymbolicLink()) continue;
    if (!facts.isFile() && !facts.isDirectory())
      throw new WraptoolError(
        'harness_install_failed',
        `the installation holds a special file "${relative}"`,
        {
          hint: 'the package is broken or hostile: do not use it',
        },
      );
    const executable = facts.isDirectory() || (Number(facts.mode) & 0o111) !== 0;
    // Folders stay writable for their owner: he has to be able to remove them.
    await chmod(path.join(root, relative), facts.isDirectory() ? 0o755 : executable ? 0o555 : 0o444);
  }
  await chmod(root, 0o755);
}

/** SHA-256 over names, kinds, modes, sizes, times and link targets: tells damage, at the cost of a listing. */
export async function treeDigest(root: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const { relative, facts } of walk(root)) {
    const link = facts.isSymbolicLink() ? await readlink(path.join(root, relative)) : '';
    const size = facts.isFile() ? `${facts.size} ${Math.trunc(Number(facts.mtimeMs))}` : '';
    hash.update(
      `${[relative, String(facts.mode), size, link].map((part) => JSON.stringify(part)).join(' ')}\n`,
    );
  }
  return hash.digest('hex');
}
