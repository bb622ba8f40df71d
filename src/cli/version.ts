import { readFileSync } from 'node:fs';
import { packagePlace } from '../places.ts';

/** The package's own version. */
export function version(): string {
  const file = readFileSync(packagePlace('package.json'), 'utf8');
  return (JSON.parse(file) as { version: string }).version;
}
