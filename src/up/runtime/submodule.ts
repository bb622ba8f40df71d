/** Whether a repository below another's `.git/modules` says that its work tree is that folder. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const longest = 64 * 1024;

/** True for the place that git gives the repositories of submodules, nested ones too. */
export function isSubmodulePlace(gitDir: string): boolean {
  return /\/\.git\/(?:.*\/)?modules\/[^/]/.test(gitDir);
}

/** Folder that `core.worktree` in its config names, absolute; null where there is none. */
export async function worktreeOf(gitDir: string): Promise<string | null> {
  const handle = await open(
    join(gitDir, 'config'),
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  );
  try {
    if (!(await handle.stat()).isFile()) return null;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(longest), 0, longest, 0);
    const value = bytesRead === longest ? null : coreWorktree(buffer.toString('utf8', 0, bytesRead));
    return value === null ? null : resolve(gitDir, value);
  } finally {
    await handle.close();
  }
}

/** As git writes it: one value on one line. The last one counts. */
export function coreWorktree(config: string): string | null {
  let section = '';
  let found: string | null = null;
  for (const line of config.split('\n')) {
    section = /^\s*\[([^\]]*)\]/.exec(line)?.[1]?.trim().toLowerCase() ?? section;
    const value = /^\s*(?:\[[^\]]*\])?\s*worktree\s*=\s*(.*?)\s*$/i.exec(line)?.[1];
    if (section === 'core' && value !== undefined) found = unquoted(value);
  }
  return found;
}

function unquoted(value: string): string {
  const inner = /^"(.*)"$/.exec(value)?.[1];
  return inner === undefined ? value : inner.replace(/\\(["\\])/g, '$1');
}
