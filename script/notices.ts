/** The licences of what a bundle holds: they ask to be kept with each copy. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
};

/** A text of all of them, by package; `modules` are absolute paths. Throws where a package names none. */
export function notices(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((file) => packageOf(file) ?? []));
  const parts = [...folders].map((folder) => {
    const { name, version, license, author } = manifestOf(folder);
    const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
    if (file === undefined && license === undefined) throw new Error(`${name} ${version} names no licence`);
    const by = typeof author === 'string' ? author : (author?.name ?? 'its authors');
    const text = file === undefined ? `${license}, by ${by}` : readFileSync(path.join(folder, file), 'utf8');
    return `${name} ${version}\n\n${text.trim()}\n`;
  });
  return `Parts of these packages are in the programs of this folder.\n\n${parts.sort().join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** The folder of the package that a file is of; null for our own. */
function packageOf(file: string): string | null {
  if (!file.includes('/node_modules/')) return null;
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, 'package.json');
    // One that only says the kind of modules has no name.
    if (existsSync(manifest) && manifestOf(folder).name !== undefined) return folder;
    if (path.basename(folder) === 'node_modules') return null;
  }
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}
