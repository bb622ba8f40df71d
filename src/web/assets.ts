/** The page's files, in memory. There is no build: what lies in page/ is what the browser gets. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { codeFolder } from '../places.ts';

export type Asset = { readonly type: string; readonly bytes: Buffer };

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const folder = codeFolder('web/page');

/** By name; the page itself is the empty one. */
export async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  for (const name of await readdir(folder)) {
    const type = types[name.slice(name.lastIndexOf('.') + 1)];
    if (type === undefined) continue;
    assets.set(name === 'index.html' ? '' : name, { type, bytes: await readFile(path.join(folder, name)) });
  }
  return assets;
}
