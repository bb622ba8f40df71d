/**
 * guix for tests: the real one where this machine has one on PATH, else the stand-in of test/fixtures/guix, which is not
 * guix and says so.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

export const standIn = fileURLToPath(new URL('../fixtures/guix/guix', import.meta.url));

const real = spawnSync('guix', ['--version'], { encoding: 'utf8' });
export const hasRealGuix = real.status === 0 && !real.stdout.includes('stand-in');

/** PATH with a guix on it. */
export function pathWithGuix(path: string | undefined): string {
  return hasRealGuix ? (path ?? '') : [dirname(standIn), path ?? ''].join(delimiter);
}

/** Puts a guix on this process's own PATH, for what it starts too. */
export function provideGuix(): void {
  const path = process.env['PATH'] ?? '';
  if (!path.split(delimiter).includes(dirname(standIn))) process.env['PATH'] = pathWithGuix(path);
}
