/** The bucket of a gateway without a session, which ends with each restart: NAME.turns beside its control socket. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { FullAt } from '../../restart/rate.ts';
import type { KeptBucket } from './turns.ts';

/** `sessions`: a folder that is the operator's alone. */
export function keptBucket(sessions: string, name: string): KeptBucket {
  // No session's folder has a dot in its name.
  const file = path.join(sessions, `${name}.turns`);
  let written: Promise<void> = Promise.resolve();
  return {
    load: () => load(file),
    save: (fullAt) => {
      const write = (): Promise<void> => save(file, fullAt);
      return (written = written.then(write, write));
    },
  };
}

async function load(file: string): Promise<FullAt> {
  try {
    const { full_at: fullAt } = JSON.parse(await readFile(file, 'utf8')) as { full_at?: unknown };
    return typeof fullAt === 'number' && Number.isFinite(fullAt) ? fullAt : null;
  } catch (error) {
    // It holds nothing but a count: without a readable one it begins anew.
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function save(file: string, fullAt: number): Promise<void> {
  const aside = path.join(path.dirname(file), `.${path.basename(file)}`);
  await writeFile(aside, `${JSON.stringify({ full_at: fullAt })}\n`, { mode: 0o600 });
  await rename(aside, file);
}
