/** Help of the configured tools, for what the gateway lists and discovers: bounded in time, and never an error. */
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { WraptoolError } from '../errors.ts';
import type { Spawner } from '../executor/spawner.ts';
import type { Help } from '../introspect/help/types.ts';
import type { Introspector } from '../introspect/introspect.ts';
import { cacheDir, homeDir } from '../paths.ts';
import type { Active } from './active.ts';

export interface HelpReader {
  /** For the tools of one config: reads a tool's help, or null where it can't be read in `patienceMs` from now on. */
  within(active: Active, patienceMs: number): (tool: string) => Promise<Help | null>;
}

export function createHelpReader(options: {
  readonly spawner: Spawner;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fault: (error: unknown) => void;
}): HelpReader {
  const { spawner, env, fault } = options;
  let loaded: Promise<Introspector> | null = null;
  // Not with the gateway: it is needed at the first list, and the gateway starts fast.
  const introspector = () =>
    (loaded ??= import('../introspect/introspect.ts').then(({ createIntrospector }) =>
      createIntrospector({ spawner, cacheDir: path.join(cacheDir(env), 'introspect'), home: homeDir(env) }),
    ));
  const read = async (active: Active, name: string): Promise<Help | null> => {
    const tool = active.tools.get(name);
    if (tool === undefined) return null;
    const { binary, config } = tool;
    try {
      const reader = await introspector();
      return await reader.read({ name, binary, configured: config.binary, helpArgv: config.help_argv });
    } catch (error) {
      // Why it can't be read is what `wraptool introspect` says.
      if (!(error instanceof WraptoolError) || error.code === 'internal') fault(error);
      return null;
    }
  };
  return {
    within(active, patienceMs) {
      const late = wait(patienceMs, null, { ref: false });
      return (name) => Promise.race([read(active, name), late]);
    },
  };
}
