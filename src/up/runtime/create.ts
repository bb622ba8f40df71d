import { Bubblewrap } from './bubblewrap.ts';
import { Devcontainer } from './devcontainer.ts';
import { Guix } from './guix.ts';
import type { Runtime, RuntimeName } from './runtime.ts';

/** The runtime of that name, for the environment of this process. */
export function createRuntime(name: RuntimeName): Runtime {
  if (name === 'guix') return new Guix(process.env);
  return name === 'bubblewrap' ? new Bubblewrap() : new Devcontainer(process.env);
}
