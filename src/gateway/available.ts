/** What `wraptool_discover` may say beside the policy: the subcommands of each tool's own help. */
import { setTimeout as wait } from 'node:timers/promises';
import { WraptoolError } from '../errors.ts';
import type { Introspector } from '../introspect/introspect.ts';
import type { Active } from './active.ts';
import type { Available } from './discover.ts';

/** A client waits for the answer; what takes longer goes on, and the next answer has it. */
const patienceMs = 5000;

/** What can't be read is empty: the answer is no place to mend it, `wraptool introspect` says why. */
export function availableFrom(
  introspector: Introspector,
  active: Active,
  fault: (error: unknown) => void,
): Available {
  const late = wait(patienceMs, {}, { ref: false });
  return async (name) => {
    const tool = active.tools.get(name);
    if (tool === undefined) return {};
    const read = introspector
      .read({ name, binary: tool.binary, configured: tool.config.binary, helpArgv: tool.config.help_argv })
      .then(
        ({ subcommands }) => subcommands,
        (error: unknown) => {
          if (!(error instanceof WraptoolError) || error.code === 'internal') fault(error);
          return {};
        },
      );
    return await Promise.race([read, late]);
  };
}
