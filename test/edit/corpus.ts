/** The cases of the corpus, each also with every line end CRLF, with a byte order mark, and without the last newline. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../corpus/edits/', import.meta.url));

export type IndexEntry = { readonly id: string; readonly what: string; readonly kind: string };

export function index(part: 'yaml' | 'clients'): IndexEntry[] {
  return JSON.parse(readFileSync(path.join(root, part, 'index.json'), 'utf8')) as IndexEntry[];
}

export function json<T>(part: string, id: string, name: string): T {
  return JSON.parse(readFileSync(path.join(root, part, id, `${name}.json`), 'utf8')) as T;
}

/** Null where the case has no such file. */
export function bytes(part: string, id: string, name: string): Buffer | null {
  const file = path.join(root, part, id, name);
  return existsSync(file) ? readFileSync(file) : null;
}

export type Variant = { readonly name: string; readonly of: (text: string) => string };

const asHanded: Variant = { name: '', of: (text) => text };

/** Changes of all files of a case under which it still holds. */
export function variants(before: string): Variant[] {
  const found = [asHanded];
  if (before.includes('\n') && !before.includes('\r'))
    found.push({ name: ', CRLF', of: (text) => text.replaceAll('\n', '\r\n') });
  if (before !== '' && !before.startsWith('\uFEFF'))
    found.push({ name: ', byte order mark', of: (text) => `\uFEFF${text}` });
  if (/\S[^\n]*\n$/.test(before))
    found.push({ name: ', no last newline', of: (text) => text.replace(/\r?\n$/, '') });
  return found;
}
