/** One tool and its rules. */
import { z } from '../zod.ts';
import { absolute, concurrency, duration, environmentName, form, size } from './schema-text.ts';

const flagName = form('a flag with its dashes, without a value', /^-[^\s=]+$/).refine(
  (value) => !/^-+$/.test(value),
  {
    error: 'expected a flag with its dashes, without a value',
  },
);
const shortName = form('one dash and one character', /^-[^\s=-]$/u);
const globalFlag = form('a flag with its dashes', /^-\S+$/).refine((value) => !/^-+$/.test(value), {
  error: 'expected a flag with its dashes',
});
const subcommand = form(
  'words separated by single spaces, none of them beginning with a dash',
  /^(?!-)[^\s-][^\s]*(?: [^\s-][^\s]*)*$/,
);
const examples = z
  .array(
    z.union([z.string(), z.array(z.string(), { error: 'expected a list of strings' })], {
      error: 'expected a string or a list of strings',
    }),
    { error: 'expected a list of calls' },
  )
  .optional();

const constraintKeys = {
  enum: z
    .array(z.string(), { error: 'expected a list of strings' })
    .optional()
    .describe('The values that are allowed, exactly.'),
  pattern: z
    .string()
    .optional()
    .describe('A regular expression (JavaScript, flag u) that the whole value must match.'),
  path: z
    .union(
      [
        z.literal('cwd'),
        z.array(form('a folder', /^[^-\s][^\0]*$/), { error: "expected 'cwd' or a list of folders" }),
      ],
      {
        error: "expected 'cwd' or a list of folders",
      },
    )
    .optional()
    .describe(
      'A path: `cwd` for relative ones inside the working directory, or the folders that it must lie in.',
    ),
  ext: z
    .union(
      [
        form('a file name extension such as .ts', /^\S+$/),
        z.array(form('a file name extension such as .ts', /^\S+$/)),
      ],
      {
        error: 'expected a file name extension or a list of them',
      },
    )
    .optional()
    .describe('How the name must end.'),
  type: z
    .enum(['int', 'path', 'url'], { error: 'expected int, path or url' })
    .optional()
    .describe('The kind of value.'),
  min: z.int({ error: 'expected a whole number' }).optional().describe('With `type: int`: the least number.'),
  max: z
    .int({ error: 'expected a whole number' })
    .optional()
    .describe('With `type: int`: the greatest number.'),
  multiline: z.boolean().optional().describe('Tab and newline are allowed in it.'),
};

const constraint = z.strictObject(constraintKeys);
const argument = z.strictObject({
  ...constraintKeys,
  optional: z.boolean().optional().describe('The argument may be missing.'),
});
const flagConstraint = z.strictObject({
  short: shortName.optional().describe('The short form of the flag.'),
  value: z
    .enum(['none', 'optional', 'required'], { error: 'expected none, optional or required' })
    .optional()
    .describe(
      'Whether it takes a value. An optional one is only ever attached. Default: required where the value is constrained, else bare or with an attached `=value`.',
    ),
  ...constraintKeys,
  required: z.boolean().optional().describe('The flag must be given.'),
  repeat: z.boolean().optional().describe('The flag may be given more than once.'),
  dash_value: z.boolean().optional().describe('A detached value may begin with a dash.'),
});
const anyConstraint = z.union([z.literal('any'), constraint], { error: "expected 'any' or a constraint" });

const allowRule = z.strictObject({
  subcommand: subcommand
    .optional()
    .describe('The words after the tool; without it the rule is for the bare tool.'),
  flags: z
    .union([z.literal('any'), z.array(flagName, { error: "expected 'any' or a list of flags" })], {
      error: "expected 'any' or a list of flags",
    })
    .nullish()
    .describe('The flags that may be given; absent means none. `any` is for policies made of deny rules.'),
  flag_constraints: z
    .record(flagName, flagConstraint)
    .optional()
    .describe(
      'By flag: what its value must be. A flag without one may be bare or have an attached `=value`.',
    ),
  args: z
    .union([z.literal('any'), z.array(argument, { error: "expected 'any' or a list of constraints" })], {
      error: "expected 'any' or a list of constraints",
    })
    .optional()
    .describe('The positional arguments in order; absent means none.'),
  rest: anyConstraint.optional().describe('What further positional arguments must be; absent means none.'),
  end_of_options: z
    .union([z.boolean(), constraint], { error: 'expected true, false or a constraint' })
    .optional()
    .describe('Accepts `--`; a constraint is for each argument after it.'),
  interspersed: z
    .boolean()
    .optional()
    .describe(
      '`false`: the first positional argument ends the flags. Default: as the built-in grammar says, else true.',
    ),
  read_only: z.boolean().optional().describe('The call changes nothing; shown to clients as `readOnlyHint`.'),
  stdin: z.boolean().optional().describe('The call may bring text for standard input.'),
  match: examples.describe(
    'Calls without the tool’s name that this rule must allow; checked when the file is loaded.',
  ),
  not_match: examples.describe('Calls that this rule must not allow; checked when the file is loaded.'),
});

const denyRule = z.strictObject({
  subcommand: subcommand.optional().describe('The path that is covered, with everything below it.'),
  flags: z
    .array(flagName, { error: 'expected a list of flags' })
    .nullish()
    .describe('One of these is enough, also abbreviated, in a cluster, or before the subcommand.'),
  args_pattern: z
    .string()
    .optional()
    .describe('One positional argument that matches in full is enough (a dot takes newlines too).'),
  match: examples.describe('Calls that this rule must refuse; checked when the file is loaded.'),
  not_match: examples.describe('Calls that this rule must not refuse; checked when the file is loaded.'),
});

const grammar = z.strictObject({
  options: z
    .enum(['gnu', 'single-dash'], { error: 'expected gnu or single-dash' })
    .optional()
    .describe('`single-dash`: long options have one dash, there are no clusters (go, find, terraform).'),
  long_values: z
    .enum(['attached', 'detached'], { error: 'expected attached or detached' })
    .optional()
    .describe(
      'How a long flag’s value is written for the CLI: `--name=value`, or the next word (curl, find, gcc, java).',
    ),
  response_files: z
    .boolean()
    .optional()
    .describe('The CLI reads more arguments from `@file`: such words are refused.'),
  plus_options: z.boolean().optional().describe('The CLI reads `+cmd` as an option: such words are refused.'),
  old_style_options: z
    .boolean()
    .optional()
    .describe('The CLI reads a first word without a dash as a cluster of options (tar): it is refused.'),
});

export const environment = z.record(
  environmentName,
  z
    .string({ error: 'expected a string' })
    .refine((value) => !value.includes('\0'), { error: 'expected a string without NUL' }),
);

export const tool = z.strictObject({
  binary: absolute.describe('The program, by its absolute path.'),
  working_dir: absolute
    .nullish()
    .describe('The folder for calls that bring none. Trusted: not checked against `mcp.allowed_cwd_roots`.'),
  env: environment.optional().describe('Environment variables of the program, besides PATH, HOME and LANG.'),
  timeout: duration.optional().describe('Instead of `defaults.timeout`.'),
  max_output: size.optional().describe('Instead of `defaults.max_output`.'),
  max_concurrent: concurrency.optional().describe('Instead of `defaults.max_concurrent`.'),
  global_flags: z
    .array(globalFlag, { error: 'expected a list of flags' })
    .optional()
    .describe('Flags that are allowed before the subcommand, each exactly as written here.'),
  guard: z
    .enum(['git', 'none'], { error: 'expected git or none' })
    .optional()
    .describe('The built-in guard; on by default for a known binary.'),
  remotes: z
    .record(
      form('the name of a remote', /^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/),
      form('a URL', /^[^-\s][^\s]*$/),
    )
    .optional()
    .describe('For `guard: git`: the URL of each remote, whatever the repository says.'),
  confine: z
    .enum(['auto', 'none'], { error: 'expected auto or none' })
    .optional()
    .describe('`none`: run without confinement where it is not available. Default `auto`: refuse.'),
  home_files: z
    .array(absolute, { error: 'expected a list of paths' })
    .optional()
    .describe('Files of HOME that a confined call may read.'),
  help_argv: z
    .array(
      z
        .string({ error: 'expected a string' })
        .refine((value) => value !== '' && !value.includes('\0'), { error: 'expected a string without NUL' }),
      { error: 'expected a list of arguments' },
    )
    .optional()
    .describe(
      'The arguments that make the program print its help and do nothing else, where `--help` is not that; `[]`: it is never run for its help.',
    ),
  grammar: grammar
    .optional()
    .describe('How the CLI reads its arguments; built in for well-known ones, key by key.'),
  allow: z.array(allowRule, { error: 'expected a list of rules' }).nullish().describe('What may be called.'),
  deny: z
    .array(denyRule, { error: 'expected a list of rules' })
    .nullish()
    .describe('What is refused whatever is allowed.'),
});
