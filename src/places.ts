/**
 * Where wraptool's own parts lie. The one file that knows whether it runs as source or as built: it lies in the folder of
 * the code itself, src or dist, whatever it was made a part of.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const code = fileURLToPath(new URL('.', import.meta.url));
const ending = path.extname(fileURLToPath(import.meta.url));

/** Folder of wraptool itself: its code, what it depends on, its descriptors and templates. */
export const packageFolder = path.dirname(code);

/** A file or folder of the package, named from its top. */
export function packagePlace(name: string): string {
  return path.join(packageFolder, name);
}

/** A folder of the code, named from its top; what is mounted into runtimes is a folder of its own. */
export function codeFolder(name: string): string {
  return path.join(code, name);
}

/** A program's file as it is here: `relay/main` is `relay/main.ts`, or `.js` where it was built. */
export function programFile(name: string): string {
  return `${name}${ending}`;
}

/** Absolute path of a program of ours, named from the top of the code. */
export function programPlace(name: string): string {
  return codeFolder(programFile(name));
}
