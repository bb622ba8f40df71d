/** Policy as MCP tools: what is registered, and how a structured call becomes argv. */
import type { Findings } from './constraint.ts';
import { allowedPaths, allowedWords } from './nearest.ts';
import type { AllowRule, Flag, Policy, Slot, Word } from './rule.ts';
import { show } from './text.ts';
import type { Call, Denied } from './types.ts';

export type FlagValue = true | string | readonly string[];

export type StructuredArgs = {
  readonly flags?: Readonly<Record<string, FlagValue>>;
  readonly args?: readonly string[];
};

export type DescribedTool = {
  /** As registered: `git_push`. */
  readonly name: string;
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly readOnly: boolean;
};

const maxName = 48;

/** The name under which a subcommand is registered. */
export function toolName(tool: string, subcommand: readonly string[]): string {
  return [tool, ...subcommand].join('_').replace(/[^A-Za-z0-9_-]/g, '_');
}

/** One per allowed subcommand, sorted by name. */
export function describeTools(policy: Policy): readonly DescribedTool[] {
  return [...policy.tools.values()]
    .flatMap((tool) => allowedWords(tool.root).map(({ allow }) => describe(tool.name, allow)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The names of `describeTools`. */
export function toolNames(policy: Policy): ReadonlySet<string> {
  const tools = [...policy.tools.values()];
  return new Set(
    tools.flatMap(({ name, root }) => allowedWords(root).map((word) => toolName(name, pathOf(word.allow)))),
  );
}

/** Where rules of one subcommand stand: the words after the tool. */
function pathOf(rules: readonly AllowRule[]): readonly string[] {
  return rules[0]?.path ?? [];
}

/** Subcommand paths with an allow rule (`''` for the bare tool), for discovery. */
export function allowedSubcommands(policy: Policy, tool: string): readonly string[] {
  const root = policy.tools.get(tool)?.root;
  return root ? allowedPaths(root) : [];
}

/** Names that collide, are too long, or are kept for the gateway's own tools. */
export function checkNames(policy: Policy, findings: Findings): void {
  const taken = new Map<string, string>();
  for (const tool of policy.tools.values())
    for (const { allow } of allowedWords(tool.root)) {
      const words = pathOf(allow);
      const name = toolName(tool.name, words);
      const command = [tool.name, ...words].join(' ');
      const at = ['tools', tool.name, 'allow'];
      const other = taken.get(name);
      if (other !== undefined)
        findings.problems.push({
          path: at,
          message: `"${command}" and "${other}" would both be registered as "${name}"`,
        });
      if (name.length > maxName)
        findings.problems.push({
          path: at,
          message: `"${name}" is longer than the ${maxName} characters a tool's name may have`,
        });
      if (name.startsWith('wraptool_'))
        findings.problems.push({
          path: at,
          message: `"${name}" would be registered among the gateway's own tools`,
        });
      taken.set(name, command);
    }
}

function rulesAt(
  policy: Policy,
  tool: string,
  path: readonly string[],
): { word: Word; rules: readonly AllowRule[] } | null {
  let word: Word | undefined = policy.tools.get(tool)?.root;
  for (const step of path) word = word?.next.get(step);
  return word ? { word, rules: word.allow } : null;
}

function describe(tool: string, rules: readonly AllowRule[]): DescribedTool {
  const path = pathOf(rules);
  const command = [tool, ...path].join(' ');
  return {
    name: toolName(tool, path),
    tool,
    subcommand: path,
    description: `Runs \`${command}\` on the host with the arguments that its policy allows. Other arguments are refused with a reason; \`wraptool_request_capability\` asks for more.`,
    inputSchema: {
      type: 'object',
      properties: {
        flags: flagsSchema(rules),
        args: argsSchema(rules),
        ...(rules.some(({ terms }) => terms.stdin)
          ? { stdin: { type: 'string', description: 'text for standard input' } }
          : {}),
      },
      additionalProperties: false,
    },
    // Only if whatever rule may apply changes nothing.
    readOnly: rules.length > 0 && rules.every(({ terms }) => terms.readOnly),
  };
}

/** Unlisted flags pass the schema on purpose: their refusal is the structured denial. */
function flagsSchema(rules: readonly AllowRule[]): Record<string, unknown> {
  const flags = new Map<string, Flag>();
  for (const { terms } of rules)
    for (const flag of terms.flags.values()) if (!flags.has(flag.name)) flags.set(flag.name, flag);
  return {
    type: 'object',
    description: 'flag name to true, its value, or a list of values where it may repeat',
    properties: Object.fromEntries([...flags].map(([name, flag]) => [name, flagSchema(flag)])),
    additionalProperties: {
      anyOf: [{ const: true }, { type: 'string' }, { type: 'array', items: { type: 'string' } }],
    },
  };
}

function flagSchema(flag: Flag): Record<string, unknown> {
  const bare = { type: 'boolean', const: true };
  const text = { type: 'string' };
  const one =
    flag.value === 'none' ? [bare] : flag.value === 'required' || flag.neverBare ? [text] : [bare, text];
  const all = flag.repeat && flag.value !== 'none' ? [...one, { type: 'array', items: text }] : one;
  const description = [
    flag.short === null ? '' : `short: ${flag.short}`,
    flag.required ? 'required' : '',
    valueText(flag),
  ]
    .filter((part) => part !== '')
    .join('; ');
  const schema = all.length === 1 ? all[0] : { anyOf: all };
  return description === '' ? { ...schema } : { ...schema, description };
}

function valueText(flag: Flag): string {
  return flag.value === 'none' ? '' : constraintText({ constraint: flag.constraint, optional: false });
}

function constraintText({ constraint, optional }: Slot): string {
  const parts = [
    constraint.enum ? `one of ${[...constraint.enum].join(', ')}` : '',
    constraint.pattern ? `pattern ${constraint.pattern.source}` : '',
    constraint.type === 'int' ? 'whole number' : (constraint.type ?? ''),
    constraint.path === 'cwd'
      ? 'relative path'
      : constraint.path
        ? `path inside ${constraint.path.join(' or ')}`
        : '',
    constraint.ext ? `ending in ${constraint.ext.join(' or ')}` : '',
  ].filter((part) => part !== '');
  return `${parts.join(', ')}${optional ? ' (optional)' : ''}`;
}

function argsSchema(rules: readonly AllowRule[]): Record<string, unknown> {
  const forms = rules.map(({ terms }) => {
    const listed = terms.args.map((slot, index) => `${index + 1}. ${constraintText(slot) || 'any text'}`);
    if (terms.anyArgs) listed.push('any');
    if (terms.rest)
      listed.push(
        `then any number: ${constraintText({ constraint: terms.rest, optional: false }) || 'any text'}`,
      );
    const end = terms.endOfOptions;
    if (end !== null)
      listed.push(
        end === true
          ? '"--" is accepted'
          : `after "--": ${constraintText({ constraint: end, optional: false })}`,
      );
    return listed.length === 0 ? 'none' : listed.join('; ');
  });
  return {
    type: 'array',
    items: { type: 'string' },
    description: `positional arguments: ${[...new Set(forms)].join(' | or: ') || 'none'}`,
  };
}

/** Arguments of a structured call as they came from the wire, or why they are none. */
export function readStructured(
  tool: string,
  path: readonly string[],
  args: unknown,
): StructuredArgs | Denied {
  const given = args ?? {};
  if (typeof given !== 'object' || Array.isArray(given))
    return malformedCall(tool, path, 'the arguments must be an object');
  const { flags, args: positionals, ...others } = given as Record<string, unknown>;
  const extra = Object.keys(others)[0];
  if (extra !== undefined)
    return malformedCall(tool, path, `there is no property '${show(extra)}': a call has flags and args`);
  if (flags !== undefined && !isFlags(flags))
    return malformedCall(tool, path, 'flags must map names to true, a string, or a list of strings');
  if (positionals !== undefined && !isStrings(positionals))
    return malformedCall(tool, path, 'args must be a list of strings');
  return {
    ...(flags === undefined ? {} : { flags }),
    ...(positionals === undefined ? {} : { args: positionals }),
  };
}

/** Arguments of wraptool_run (`{tool, argv}`), or why they are none. */
export function readRun(args: unknown): Call | Denied {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return malformedCall('', [], 'the arguments must be an object with tool and argv');
  const { tool, argv, ...others } = args as Record<string, unknown>;
  const extra = Object.keys(others)[0];
  if (extra !== undefined)
    return malformedCall('', [], `there is no property '${show(extra)}': a call has tool and argv`);
  if (typeof tool !== 'string') return malformedCall('', [], 'tool must be a string');
  if (!isStrings(argv)) return malformedCall(tool, [], 'argv must be a list of strings');
  return { tool, argv };
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && Array.from(value as unknown[]).every((item) => typeof item === 'string');
}

function isFlags(value: unknown): value is Readonly<Record<string, FlagValue>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([name, each]) =>
      /^-+[^-=\s][^=\s]*$/.test(name) && (each === true || typeof each === 'string' || isStrings(each)),
  );
}

function malformedCall(tool: string, path: readonly string[], detail: string): Denied {
  return {
    decision: 'deny',
    reason: 'request_malformed',
    detail,
    tool,
    subcommand: path,
    argv: [],
    offending: null,
    flag: null,
    allowedFlags: [],
    rule: null,
  };
}

/**
 * argv after the tool's name that the grammar reads as exactly this call; where there is none, argv that is refused
 * for the reason: positionals that could be read as something else are written after `--`.
 */
export function toArgv(
  policy: Policy,
  tool: string,
  subcommand: readonly string[],
  { flags = {}, args = [] }: StructuredArgs,
): string[] {
  const place = rulesAt(policy, tool, subcommand);
  const rules = place?.rules ?? [];
  const grammar = policy.tools.get(tool)?.grammar;
  const single = grammar?.options === 'single-dash';
  const valueless = Object.keys(flags).find((name) => flags[name] === true && needsValue(rules, name));
  // Alone it is refused for the missing value; before an argument it would take that for its value.
  if (valueless !== undefined) return [...subcommand, valueless];
  const words = Object.entries(flags).flatMap(([name, value]) => {
    const flag = rules.map(({ terms }) => terms.flags.get(name)).find((found) => found !== undefined);
    const values = Array.isArray(value) ? (value as readonly string[]) : [value as true | string];
    return values.flatMap((each) =>
      each === true ? [bareFlag(name, rules, single)] : writeFlag(name, each, flag, single),
    );
  });
  return [
    ...subcommand,
    ...words,
    ...writeArgs(args, rules, place?.word, subcommand.length > 0 && words.length > 0),
  ];
}

function needsValue(rules: readonly AllowRule[], name: string): boolean {
  const known = rules.flatMap(({ terms }) => terms.flags.get(name) ?? []);
  return known.length > 0 && known.every((flag) => flag.value === 'required');
}

/** One name is one flag: what would be read as a cluster is written so that it is refused. */
function bareFlag(name: string, rules: readonly AllowRule[], single: boolean): string {
  const cluster = !single && name.length > 2 && !name.startsWith('--');
  return cluster && !rules.some(({ terms }) => terms.anyFlags || terms.flags.has(name)) ? `${name}=` : name;
}

function writeFlag(name: string, value: string, flag: Flag | undefined, single: boolean): string[] {
  if (single || name.startsWith('--') || name.length > 2) return [`${name}=${value}`];
  if (flag?.value === 'optional') return value === '' ? [`${name}=`] : [name + value];
  // With "=" it is refused as ambiguous, which is right for a flag that takes no value or is not listed.
  if (flag?.value !== 'required') return [`${name}=${value}`];
  return value.startsWith('-') && value !== '-' && !flag.dashValue ? [name + value] : [name, value];
}

function writeArgs(
  args: readonly string[],
  rules: readonly AllowRule[],
  word: Word | undefined,
  hasFlags: boolean,
): string[] {
  const written: string[] = [];
  const keepsOrder = rules.length > 0 && rules.every(({ terms }) => !terms.interspersed);
  let ended = false;
  let positionals = 0;
  for (const arg of args) {
    const literal = keepsOrder && positionals > 0;
    // A caller's own "--" is the separator: there is no other way to say where it stands.
    if (arg === '--' && !ended && !literal) {
      ended = true;
      written.push(arg);
      continue;
    }
    const dashed = arg.startsWith('-') && arg !== '-' && !literal;
    const deeper = positionals === 0 && !hasFlags && word?.next.has(arg) === true;
    if ((dashed || deeper) && !ended) {
      ended = true;
      written.push('--');
    }
    written.push(arg);
    positionals++;
  }
  return written;
}
