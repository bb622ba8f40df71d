/** What a session's gateway is told by the `up` that started it: `session.json` in the folder of WRAPTOOL_SESSION_DIR. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from '../zod.ts';
import { WraptoolError } from '../errors.ts';

const schema = z.object({
  name: z.string(),
  id: z.string(),
  workspace: z.string(),
  roots: z.array(z.string()).min(1),
  owner: z.object({ uid: z.number(), gid: z.number() }),
  remotes: z.record(z.string(), z.string()),
  shared: z
    .array(z.object({ path: z.string(), dev: z.string(), ino: z.string(), writable: z.boolean() }))
    .default([]),
});

export type SessionFacts = z.infer<typeof schema> & { readonly dir: string; readonly socket: string };

/**
 * Whether the folder is still of that very session and its runtime was ready: then all else ends by itself. Before that
 * the folder tells the next command what to look for.
 */
export async function isTidy(dir: string, id: string): Promise<boolean> {
  try {
    const state = JSON.parse(await readFile(path.join(dir, 'session.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    return state['id'] === id && state['status'] === 'running';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * `socket`: where to listen; absent: at the session's address. Throws WraptoolError gateway_failed where the folder is not
 * that session's.
 */
export async function readSessionFacts(
  dir: string | undefined,
  name: string,
  socket?: string,
): Promise<SessionFacts> {
  if (dir === undefined || !path.isAbsolute(dir))
    throw new WraptoolError('gateway_failed', `WRAPTOOL_SESSION_DIR is not set for the session '${name}'`, {
      hint: "'serve --session' is internal: 'wraptool up' starts it",
    });
  const file = path.join(dir, 'session.json');
  let facts;
  try {
    facts = schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    throw new WraptoolError('gateway_failed', `'${file}' can't be read: ${(cause as Error).message}`, {
      hint: "'serve --session' is internal: 'wraptool up' starts it",
      cause,
    });
  }
  if (facts.name !== name)
    throw new WraptoolError('gateway_failed', `'${file}' is of the session '${facts.name}', not '${name}'`);
  return { ...facts, dir, socket: socket ?? path.join(dir, 'socket', 'gateway.sock') };
}
