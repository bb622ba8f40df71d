/**
 * The work tree that git would name for the workspace. The Dev Containers CLI asks git for it and mounts that, so a
 * `core.worktree` that an agent wrote makes any folder of the host the workspace under a harmless definition.
 */
import { lstat, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { orNull, readPlain } from './ground.ts';
import type { Finding, Ground } from './types.ts';

type Repository = { readonly gitDir: string; readonly file: string };

const largestPointer = 8192;
const mostIncluded = 100;

export async function judgeGitRoot(ground: Ground): Promise<Finding | null> {
  const repository = await findRepository(ground.workspace);
  if (repository === null) return null;
  const worktree = await setting(repository.gitDir);
  if (worktree === null) return null;
  const target = path.resolve(repository.gitDir, worktree);
  if ((await ground.where(target)) === 'inside') return null;
  return {
    code: 'mount_outside_workspace',
    json_path: '',
    severity: 'host',
    file: repository.file,
    detail: {
      arg: `core.worktree = ${worktree}`,
      why: 'git names another folder as the work tree, which would be mounted',
    },
  };
}

/** `.git` as folder, link or file; else a bare repository in the workspace itself. */
async function findRepository(workspace: string): Promise<Repository | null> {
  const dotGit = path.join(workspace, '.git');
  const stats = await orNull(lstat(dotGit));
  const real = await orNull(realpath(dotGit));
  if (stats === null || real === null) return bare(workspace);
  const pointed = await readPlain(real, () => true);
  if (pointed === null) return { gitDir: real, file: path.join('.git', 'config') };
  const text = pointed.length > largestPointer ? '' : pointed.toString('utf8');
  const named = /^gitdir: ([^\0]*?)[\r\n]*$/.exec(text)?.[1];
  if (named === undefined) return null;
  const gitDir = await orNull(realpath(path.resolve(workspace, named)));
  return gitDir === null ? null : { gitDir, file: '.git' };
}

async function bare(workspace: string): Promise<Repository | null> {
  const names = new Set(await readdir(workspace));
  return ['HEAD', 'config', 'objects', 'refs'].every((name) => names.has(name))
    ? { gitDir: workspace, file: 'config' }
    : null;
}

/** The last `core.worktree` of what git reads for this repository; null: none. */
async function setting(gitDir: string): Promise<string | null> {
  const linked = await plainText(path.join(gitDir, 'commondir'));
  const seen = new Set<string>();
  const own = await lastWorktree(path.join(gitDir, 'config.worktree'), seen);
  // In a linked work tree the common config's setting is for the main one.
  if (linked !== null) return own;
  return own ?? lastWorktree(path.join(gitDir, 'config'), seen);
}

/** Each file counts once: they may name each other. */
async function lastWorktree(file: string, seen: Set<string>): Promise<string | null> {
  if (seen.has(file) || seen.size >= mostIncluded) return null;
  seen.add(file);
  const text = await plainText(file);
  if (text === null) return null;
  let found: string | null = null;
  for (const { section, key, value } of entries(text)) {
    if (section === 'core' && key === 'worktree' && value !== '') found = value;
    // Whether a condition holds is git's business: it could.
    if (/^include(if "[^]*")?$/.test(section) && key === 'path' && value !== '') {
      const included = value.startsWith('~/') ? path.join(process.env['HOME'] ?? '/', value.slice(2)) : value;
      found = (await lastWorktree(path.resolve(path.dirname(file), included), seen)) ?? found;
    }
  }
  return found;
}

async function plainText(file: string): Promise<string | null> {
  const real = await orNull(realpath(file));
  return real === null ? null : ((await readPlain(real, () => true))?.toString('utf8') ?? null);
}

type Entry = { readonly section: string; readonly key: string; readonly value: string };

/** git's own format: sections, names in any case, quotes, escapes, comments, lines that go on. */
function* entries(text: string): Generator<Entry> {
  let section = '';
  const joined = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .replace(/\\\n/g, '');
  for (const line of joined.split('\n')) {
    let rest = line.trimStart();
    const head = /^\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]/.exec(rest);
    if (head !== null) {
      const name = (head[1] as string).toLowerCase();
      section = head[2] === undefined ? name : `${name} "${head[2]}"`;
      rest = rest.slice(head[0].length).trimStart();
    }
    const pair = /^([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*([^]*))?$/.exec(rest);
    if (pair !== null)
      yield { section, key: (pair[1] as string).toLowerCase(), value: valueOf(pair[2] ?? '') };
  }
}

function valueOf(text: string): string {
  let made = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string;
    if (character === '"') quoted = !quoted;
    else if (character === '\\') {
      at += 1;
      made += { n: '\n', t: '\t', b: '\b' }[text[at] ?? ''] ?? text[at] ?? '';
    } else if (!quoted && (character === '#' || character === ';')) break;
    else made += character;
  }
  return quoted ? made : made.trimEnd();
}
