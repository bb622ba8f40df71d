/** The workspaces of test/corpus/devcontainer, each made anew in a folder of its own with its links and its repository. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../corpus/devcontainer/', import.meta.url));

export type Expected = {
  readonly code: string;
  readonly json_path: string;
  readonly severity: string;
  readonly file?: string;
  readonly code_ok?: readonly string[];
  readonly severity_ok?: readonly string[];
};

export type Case = {
  readonly id: string;
  readonly kind: string;
  readonly what: string;
  readonly config: string | null;
  readonly links?: Readonly<Record<string, string>>;
  readonly git_config?: string;
  readonly git_file?: string;
  readonly findings: readonly Expected[];
  readonly may?: readonly Expected[];
};

export const cases = JSON.parse(readFileSync(path.join(root, 'index.json'), 'utf8')) as readonly Case[];

export type Made = { readonly workspace: string; readonly remove: () => Promise<void> };

export async function make(one: Case): Promise<Made> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'wraptool-devcontainer-')));
  const workspace = path.join(dir, one.id);
  await cp(path.join(root, 'outside'), path.join(dir, 'outside'), { recursive: true });
  await mkdir(workspace);
  for (const [from, to] of Object.entries(one.links ?? {})) {
    await mkdir(path.dirname(path.join(workspace, from)), { recursive: true });
    await symlink(to, path.join(workspace, from));
  }
  const links = new Set(Object.keys(one.links ?? {}));
  await cp(path.join(root, one.id), workspace, {
    recursive: true,
    filter: (source) => !links.has(path.relative(path.join(root, one.id), source)),
  });
  if (one.git_config !== undefined) {
    execFileSync('git', ['init', '-q', '-b', 'main', workspace], {
      env: { PATH: process.env['PATH'], HOME: dir },
    });
    await writeFile(path.join(workspace, '.git', 'config'), one.git_config);
  }
  if (one.git_file !== undefined) await writeFile(path.join(workspace, '.git'), one.git_file);
  return { workspace, remove: () => rm(dir, { recursive: true, force: true }) };
}
