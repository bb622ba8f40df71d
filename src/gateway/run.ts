/** `wraptool_run`: the one stable name through which whatever policy allows now can be called. */
import { readRun, readStructured, toArgv } from '../policy/structured.ts';
import type { Policy } from '../policy/compile.ts';
import type { Call, Denied } from '../policy/types.ts';
import { refusal } from './results.ts';

export const runTool = {
  name: 'wraptool_run',
  description:
    'Runs one host command that the operator allowed: `tool` is its configured name, `argv` what is typed after it, one list item per word. No shell: no pipes, globs, quotes or variables. What is not allowed is denied with the reason and the nearest allowed form; wraptool_discover lists what is allowed.',
  inputSchema: {
    type: 'object',
    properties: {
      tool: { type: 'string', description: 'Configured name of the tool, for example "git".' },
      argv: {
        type: 'array',
        items: { type: 'string' },
        description: 'Words after the tool, for example ["status", "--short"].',
      },
      stdin: { type: 'string', description: 'Standard input, where the rule takes it.' },
    },
    required: ['tool', 'argv'],
    additionalProperties: false,
  },
} as const;

/** A call as the policy reads it, with what it is fed. */
export type Run = Call & { readonly stdin: string | null };
type Args = Readonly<Record<string, unknown>>;

/** Arguments of wraptool_run. */
export function runOfArgv(args: Args): Run | Denied {
  const { stdin, ...rest } = args;
  const call = readRun(rest);
  return 'decision' in call ? call : withStdin(call, stdin);
}

/** Arguments of a registered tool, written as the argv that the policy judges. */
export function runOfTool(
  policy: Policy,
  tool: string,
  subcommand: readonly string[],
  args: Args,
): Run | Denied {
  const { stdin, ...rest } = args;
  const read = readStructured(tool, subcommand, rest);
  if ('decision' in read) return read;
  return withStdin({ tool, argv: toArgv(policy, tool, subcommand, read) }, stdin);
}

function withStdin(call: Call, stdin: unknown): Run | Denied {
  if (stdin !== undefined && typeof stdin !== 'string')
    return refusal('request_malformed', 'stdin must be a string', call);
  return { ...call, stdin: stdin ?? null };
}
