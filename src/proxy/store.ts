/** Small JSON files of the state folder, written whole or not at all. */
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Null if there is none. Throws SyntaxError for what is no JSON. */
export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as unknown;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export async function writeJson(file: string, value: unknown): Promise<void> {
  await withTemporary(file, value, (temporary) => rename(temporary, file));
}

/** False when the file is there already: of two processes one wins. */
export async function createJson(file: string, value: unknown): Promise<boolean> {
  return await withTemporary(file, value, async (temporary) => {
    try {
      await link(temporary, file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  });
}

async function withTemporary<T>(
  file: string,
  value: unknown,
  use: (temporary: string) => Promise<T>,
): Promise<T> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    return await use(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}
