/** Where a server starts: its configured folder, or an empty private one that goes with it. */
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { UpstreamFailure, type UpstreamDeps } from './types.ts';

export type Folder = { readonly path: string; readonly remove: () => Promise<void> };

/** Rejects with UpstreamFailure. */
export async function workingFolder(
  server: string,
  cwd: string | null,
  { runDir, onEvent }: Pick<UpstreamDeps, 'runDir' | 'onEvent'>,
): Promise<Folder> {
  if (cwd !== null) return { path: cwd, remove: async () => undefined };
  const made = await make(path.join(runDir, `${server}-`));
  const remove = async () => {
    try {
      await rm(made, { recursive: true, force: true });
    } catch (error) {
      onEvent({ server, kind: 'problem', detail: `'${made}' can't be removed: ${String(error)}` });
    }
  };
  return { path: made, remove };
}

async function make(prefix: string): Promise<string> {
  try {
    return await mkdtemp(prefix);
  } catch (error) {
    throw new UpstreamFailure('start', 'could not be started: there is no place for its folder', error);
  }
}
