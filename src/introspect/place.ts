/** The place in which a program prints its help: an empty one, with nothing of the operator's but the program. */
import { open, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { ConfineSpec } from '../confine/types.ts';
import { childPath } from '../executor/environment.ts';

const MiB = 1024 * 1024;

/** Neither a pager, nor a browser, nor a colour; a width at which few descriptions wrap. */
const quiet = {
  LANG: 'C.UTF-8',
  PATH: childPath,
  PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_PAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  AWS_PAGER: '',
  BROWSER: '/bin/false',
  EDITOR: '/bin/false',
  TERM: 'dumb',
  NO_COLOR: '1',
  COLUMNS: '120',
};

/** `binary`: real path. `home`: the operator's, nothing of which is shown but what the program itself is made of. */
export async function helpPlace(binary: string, home: string): Promise<ConfineSpec> {
  const shown = [...new Set([...(await placesOf(binary, home)), ...(await interpreterPlaces(binary, home))])];
  // Private and empty both; /tmp would show the way to a program that lies below it.
  const empty = binary.startsWith('/tmp/') ? '/run' : '/tmp';
  return {
    readOnly: shown.map((path) => ({ source: path, target: path })),
    writable: [],
    cwd: empty,
    env: { ...quiet, HOME: empty },
    network: 'none',
    terminal: false,
    hostname: 'wraptool',
    limits: {
      // Address space, of which a JavaScript or Java engine reserves far more than it uses.
      addressSpaceBytes: 32 * 1024 * MiB,
      cpuSeconds: 10,
      processes: 128,
      fileSizeBytes: 16 * MiB,
      tmpBytes: 64 * MiB,
    },
  };
}

/** What a program outside of the system is made of: its installation where that can be told, else the file alone. */
async function placesOf(path: string, home: string): Promise<string[]> {
  if (path.startsWith('/usr/')) return [];
  const modules = /^(.*?\/node_modules)\//.exec(path)?.[1];
  if (modules !== undefined && isShowable(modules, home)) return [modules];
  const folder = dirname(path);
  const prefix = dirname(folder);
  const installed = ['bin', 'sbin', 'libexec'].includes(basename(folder));
  if (installed && isShowable(prefix, home)) return [prefix];
  return [path];
}

/** Deep enough to be one program's, and neither HOME nor a hidden folder of it, where credentials lie. */
function isShowable(folder: string, home: string): boolean {
  if (folder.split('/').length < 3 || home === folder || home.startsWith(`${folder}/`)) return false;
  if (!folder.startsWith(`${home}/`)) return true;
  return !folder
    .slice(home.length + 1)
    .split('/', 1)[0]!
    .startsWith('.');
}

async function interpreterPlaces(binary: string, home: string): Promise<string[]> {
  const handle = await open(binary);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    const line = /^#![ \t]*(\/[^ \t\n]+)/.exec(buffer.subarray(0, bytesRead).toString('latin1'))?.[1];
    if (line === undefined) return [];
    return [...(await placesOf(line, home)), ...(await placesOf(await realpath(line), home))].filter(
      (path) => !isSystemLink(path),
    );
  } finally {
    await handle.close();
  }
}

/** `/bin/sh` and its like are there as links. */
function isSystemLink(path: string): boolean {
  return /^\/(?:bin|sbin|lib|lib64)(?:\/|$)/.test(path);
}
