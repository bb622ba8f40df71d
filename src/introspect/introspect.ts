/** What a configured tool says of itself: from the cache, or by running it for its help. */
import { WraptoolError } from '../errors.ts';
import { checkBinary } from '../executor/binary.ts';
import type { Spawner } from '../executor/spawner.ts';
import type { ResolvedBinary } from '../executor/types.ts';
import { createHelpCache, helpKey } from './cache.ts';
import { parseHelp } from './help/parse.ts';
import type { Help } from './help/types.ts';
import { helpArgv } from './invocation.ts';
import { runHelp } from './run.ts';

/** One tool of the config: nothing else is ever run. */
export type ToolToRead = {
  readonly name: string;
  readonly binary: ResolvedBinary;
  /** The path as it was configured: a link's own name may say what the program is. */
  readonly configured: string;
  /** `tools.NAME.help_argv`, or null. */
  readonly helpArgv: readonly string[] | null;
};

export interface Introspector {
  /**
   * Throws introspect_refused where no argv is known to print help only, introspect_failed, binary_invalid, and
   * confine_unavailable: without confinement nothing is run.
   */
  read(tool: ToolToRead): Promise<Help>;
}

/** A failure is not tried again for so long. */
const retryMs = 60_000;
/** Programs that run at the same time. */
const atOnce = 4;

type Known = { readonly help: Promise<Help>; failedAt: number | null };

export function createIntrospector(options: {
  readonly spawner: Spawner;
  readonly cacheDir: string;
  readonly home: string;
}): Introspector {
  const cache = createHelpCache(options.cacheDir);
  const known = new Map<string, Known>();
  const slots = createSlots(atOnce);
  const run = async (tool: ToolToRead, argv: readonly string[]): Promise<Help> => {
    const cached = await cache.read(tool.binary, argv);
    if (cached !== null) return cached;
    return await slots(async () => {
      await checkBinary(tool.binary);
      const { text, failed } = await runHelp(options.spawner, {
        binary: tool.binary.path,
        argv,
        home: options.home,
      });
      const help = parseHelp(text);
      if (failed && isEmpty(help)) throw unreadable(tool, argv, text);
      await cache.write(tool.binary, argv, help);
      return help;
    });
  };
  return {
    read: async (tool) => {
      const argv = helpArgv([tool.configured, tool.binary.path], tool.helpArgv);
      if (argv === null) throw refused(tool);
      const key = helpKey(tool.binary, argv);
      const before = known.get(key);
      const tired = before?.failedAt != null && Date.now() - before.failedAt > retryMs;
      if (before !== undefined && !tired) return before.help;
      const entry: Known = { help: run(tool, argv), failedAt: null };
      known.set(key, entry);
      entry.help.catch(() => {
        entry.failedAt = Date.now();
      });
      return entry.help;
    },
  };
}

function isEmpty({ subcommands, flags }: Help): boolean {
  return flags.length === 0 && Object.keys(subcommands).length === 0;
}

/** What it said last is why: a library that is missing, an option that it does not know. */
function unreadable({ name, binary }: ToolToRead, argv: readonly string[], text: string): WraptoolError {
  const said = text.trim().split('\n').at(-1)?.trim().slice(0, 200) ?? '';
  const command = [binary.path, ...argv].join(' ');
  return new WraptoolError(
    'introspect_failed',
    `'${command}' printed no help${said === '' ? '' : `: ${said}`}`,
    {
      hint: `name what prints its help in \`tools.${name}.help_argv\`; \`[]\` is never to run it`,
    },
  );
}

function refused({ name, configured, helpArgv: argv }: ToolToRead): WraptoolError {
  if (argv !== null)
    return new WraptoolError(
      'introspect_refused',
      `'help_argv' of "${name}" is empty: it is never run for its help`,
    );
  return new WraptoolError(
    'introspect_refused',
    `nothing is known to make "${configured}" print its help and do nothing else`,
    {
      hint: `name it in \`tools.${name}.help_argv\``,
    },
  );
}

/** Lets so many run at once; the others wait in order. */
function createSlots(count: number): <T>(task: () => Promise<T>) => Promise<T> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
