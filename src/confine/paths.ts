import { lstatSync } from 'node:fs';
import { isAbsolute, normalize, relative, sep } from 'node:path';
import { WraptoolError } from '../errors.ts';
import type { Bind, ConfineSpec } from './types.ts';

/**
 * Checks every path of a spec before it reaches bubblewrap, which follows links in sources and in targets:
 * a link that an agent left in a writable folder would show, or make a mount point in, a place of the host.
 * Throws workspace_refused for such a link and internal for a path that is not absolute and normal.
 */
export function checkPaths(
  spec: Pick<ConfineSpec, 'readOnly' | 'writable' | 'readOnlyOver' | 'links' | 'cwd'>,
): void {
  const over = spec.readOnlyOver ?? [];
  const links = spec.links ?? [];
  for (const bind of [...spec.readOnly, ...spec.writable, ...over]) {
    checkForm(bind.source);
    checkForm(bind.target);
  }
  for (const link of links) checkForm(link.target);
  checkForm(spec.cwd);
  for (const writable of spec.writable) {
    for (const bind of [...spec.readOnly, ...spec.writable, ...over]) {
      if (below(bind.source, writable.source)) refuseLinks(writable.source, bind.source);
    }
    for (const bind of [...spec.readOnly, ...spec.writable, ...over, ...links]) {
      if (below(bind.target, writable.target)) refuseLinks(writable.source, moved(bind.target, writable));
    }
  }
}

function checkForm(path: string): void {
  const trailing = path.length > 1 && path.endsWith(sep);
  if (isAbsolute(path) && normalize(path) === path && !trailing && !path.includes('\0')) return;
  throw new WraptoolError('internal', `a confined path must be absolute and normal, not '${path}'`);
}

/** Whether path lies strictly below folder. */
function below(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder === sep ? sep : folder + sep);
}

/** Where a target inside a writable bind lies on the host. */
function moved(target: string, writable: Bind): string {
  return `${writable.source === sep ? '' : writable.source}${sep}${relative(writable.target, target)}`;
}

/** Walks from a writable folder to a path below it; what does not exist yet is fine, a link is not. */
function refuseLinks(from: string, to: string): void {
  let path = from === sep ? '' : from;
  for (const part of relative(from, to).split(sep)) {
    path += sep + part;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isSymbolicLink()) continue;
    throw new WraptoolError('workspace_refused', `'${path}' is a link where a folder or file was expected`, {
      hint: 'remove the link; it lies in a folder that confined programs can write to',
    });
  }
}

/** Whether the operator has given a folder, or the repository in it, to a group: its new folders then are the group's too. */
export function groupShares(folder: string): boolean {
  return [folder, `${folder}/.git`].some((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.isDirectory() === true && (stats.mode & 0o2000) !== 0;
  });
}
