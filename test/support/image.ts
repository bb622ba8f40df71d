/** The Docker image that tests start from, made of this machine's own packages. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const testImage = 'wraptool-test-base';

/** Makes the image if it is missing or old. Throws with the script's words. */
export function ensureTestImage(): string {
  const script = fileURLToPath(new URL('../../script/base-image', import.meta.url));
  const made = spawnSync(script, [testImage], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`script/base-image: ${made.stderr}`);
  return testImage;
}
