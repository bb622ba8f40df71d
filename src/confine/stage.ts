import { type Stats, statSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { program } from './program.ts';
import type { Bind, ConfineSpec } from './types.ts';

/** In a mount namespace of its own this one is free: no sandbox sees /sys, and no source lies there. */
const place = '/sys';

const mountAll = `mount -t tmpfs -o mode=0755,size=1m stage ${place} || exit 125
i=0; while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir ${place}/$i; else : > ${place}/$i; fi
  mount --rbind -- "$1" ${place}/$i || exit 125
  i=$((i+1)); shift; done; shift; exec "$@"`;

/**
 * Root runs bubblewrap as the owner of the workspace, who may not pass through root's own folders (a HOME of mode 0700)
 * to the sources there. They are mounted where the owner can reach them, in a mount namespace that ends with the
 * sandbox. `prefix` is argv before the change of user; `spec` has the new sources.
 */
export function stage(spec: ConfineSpec): { readonly prefix: readonly string[]; readonly spec: ConfineSpec } {
  const { user } = spec;
  if (user === undefined || user.uid === 0 || process.getuid?.() !== 0) return { prefix: [], spec };
  const staged: string[] = [];
  const reach = (bind: Bind): Bind => {
    const root = staged.findIndex((one) => bind.source === one || bind.source.startsWith(`${one}/`));
    if (root >= 0) return { ...bind, source: at(root, relative(staged[root]!, bind.source)) };
    // Root never follows a path through a folder that a sandbox may write to: a link could take a name's place.
    const hostile = spec.writable.some(({ source }) => bind.source.startsWith(`${source}/`));
    if (hostile || canReach(bind.source, user)) return bind;
    return { ...bind, source: at(staged.push(bind.source) - 1, '') };
  };
  // Writable folders first: what lies below one of them is then reached through it, as its owner.
  const writable = spec.writable.map(reach);
  const readOnly = spec.readOnly.map(reach);
  const readOnlyOver = (spec.readOnlyOver ?? []).map(reach);
  if (staged.length === 0) return { prefix: [], spec };
  return {
    prefix: [program('unshare'), '--mount', '--', program('sh'), '-c', mountAll, 'stage', ...staged, '--'],
    spec: { ...spec, writable, readOnly, readOnlyOver },
  };
}

function at(index: number, below: string): string {
  return below === '' ? `${place}/${index}` : `${place}/${index}/${below}`;
}

/** Whether every folder above lets that user pass. Access lists are not looked at: they only lead to more staging. */
function canReach(path: string, user: { uid: number; gid: number }): boolean {
  for (let dir = dirname(path); ; dir = dirname(dir)) {
    const stats = statSync(dir, { throwIfNoEntry: false });
    // What does not exist is bubblewrap's to complain about.
    if (stats !== undefined && !passes(stats, user)) return false;
    if (dir === '/') return true;
  }
}

function passes(stats: Stats, { uid, gid }: { uid: number; gid: number }): boolean {
  if (stats.uid === uid) return (stats.mode & 0o100) !== 0;
  if (stats.gid === gid) return (stats.mode & 0o010) !== 0;
  return (stats.mode & 0o001) !== 0;
}
