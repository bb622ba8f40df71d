/** `wraptool_run`: the one stable name through which whatever policy allows now can be called. */
import { isStringList, onlyKeys } from './arguments.ts';

export const runTool = {
  name: 'wraptool_run',
  description:
    'Runs one host command that the operator allowed: `tool` is its configured name, `argv` what is typed after it, one list item per word. No shell: no pipes, globs, quotes or variables. What is not allowed is denied with the reason and the nearest allowed form; wraptool_discover lists what is allowed.',
  inputSchema: {
    type: 'object',
    properties: {
      tool: { type: 'string', description: 'Configured name of the tool, for example "git".' },
      argv: { type: 'array', items: { type: 'string' }, description: 'Words after the tool, for example ["status", "--short"].' },
      stdin: { type: 'string', description: 'Standard input, where the rule takes it.' },
    },
    required: ['tool', 'argv'],
    additionalProperties: false,
  },
} as const;

export type Run = { readonly tool: string; readonly argv: readonly string[]; readonly stdin: string | null };

/** Reads the tool's arguments; a string says what is wrong with them. */
export function readRun(args: Readonly<Record<string, unknown>>): Run | string {
  const extra = onlyKeys(args, ['tool', 'argv', 'stdin']);
  if (extra !== null) return extra;
  const { tool, argv, stdin } = args;
  if (typeof tool !== 'string') return "'tool' must be a string";
  if (!isStringList(argv)) return "'argv' must be a list of strings";
  if (stdin !== undefined && typeof stdin !== 'string') return "'stdin' must be a string";
  return { tool, argv, stdin: stdin ?? null };
}
