/**
 * What the operator approved: a definition's exact content, kept as a copy outside the workspace. Whatever uses the
 * definition uses the copy, and only while the workspace still shows the same.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { updateFile } from '../edit/file.ts';
import { WraptoolError } from '../errors.ts';
import { stateDir } from '../paths.ts';
import { orNull } from './ground.ts';
import type { Inspection } from './inspect.ts';
import { limits } from './tree.ts';
import type { Finding } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Subject = Pick<Inspection, 'workspace' | 'name'>;

export type Approval = {
  readonly version: 1;
  readonly workspace: string;
  readonly definition: string;
  readonly hash: string;
  readonly approved_at: string;
  readonly findings: readonly Finding[];
};

/** The approval of a workspace's definition, for whatever content. */
export async function readApproval(env: Env, subject: Subject): Promise<Approval | null> {
  const text = await orNull(readFile(record(env, subject), 'utf8'));
  if (text === null) return null;
  const found = JSON.parse(text) as Approval;
  return found.version === 1 && found.workspace === subject.workspace && found.definition === subject.name
    ? found
    : null;
}

/** All approvals, of whatever workspace. */
export async function approvals(env: Env): Promise<readonly Approval[]> {
  const folder = path.join(stateDir(env), 'devcontainers');
  const found: Approval[] = [];
  for (const workspace of (await orNull(readdir(folder))) ?? [])
    for (const name of (await orNull(readdir(path.join(folder, workspace)))) ?? []) {
      const text = await orNull(readFile(path.join(folder, workspace, name, 'approval.json'), 'utf8'));
      if (text === null) continue;
      const approval = JSON.parse(text) as Approval;
      if (approval.version === 1) found.push(approval);
    }
  return found;
}

/** True where exactly this content was approved and its copy is there. */
export async function isApproved(env: Env, inspection: Inspection): Promise<boolean> {
  const approval = await readApproval(env, inspection);
  if (approval?.hash !== inspection.hash) return false;
  return (await orNull(readdir(copyFolder(env, inspection, approval.hash)))) !== null;
}

/** Keeps what was inspected, byte for byte, and nothing that was read later. Errors: devcontainer_refused. */
export async function approve(env: Env, inspection: Inspection, now: Date): Promise<Approval> {
  if (inspection.tooMuch)
    throw new WraptoolError(
      'devcontainer_refused',
      `the definition names more than ${limits.files} files or ${limits.bytes / 1024 / 1024} MiB`,
      { hint: 'let its Dockerfile copy only what the image needs, or name a smaller "context"' },
    );
  const folder = copyFolder(env, inspection, inspection.hash);
  const fresh = `${folder}.${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  for (const [name, entry] of inspection.files) {
    if (!('bytes' in entry)) continue;
    const target = path.join(fresh, name);
    await mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    await writeFile(target, entry.bytes, { mode: entry.executable ? 0o700 : 0o600, flag: 'wx' });
  }
  await rm(folder, { recursive: true, force: true });
  await rename(fresh, folder);
  const approval: Approval = {
    version: 1,
    workspace: inspection.workspace,
    definition: inspection.name,
    hash: inspection.hash,
    approved_at: now.toISOString(),
    findings: inspection.findings,
  };
  const bytes = Buffer.from(`${JSON.stringify(approval, null, 2)}\n`);
  await updateFile(record(env, inspection), () => ({ write: bytes }));
  await forgetOthers(path.dirname(folder), inspection.hash);
  return approval;
}

/** Folder with the copy, files by their path in the workspace. */
export function copyFolder(env: Env, subject: Subject, hash: string): string {
  return path.join(home(env, subject), hash);
}

function record(env: Env, subject: Subject): string {
  return path.join(home(env, subject), 'approval.json');
}

function home(env: Env, { workspace, name }: Subject): string {
  const key = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);
  return path.join(stateDir(env), 'devcontainers', key(workspace), key(name));
}

async function forgetOthers(folder: string, hash: string): Promise<void> {
  for (const name of await readdir(folder))
    if (/^[0-9a-f]{64}/.test(name) && name !== hash)
      await rm(path.join(folder, name), { recursive: true, force: true });
}
