/** The one source of the config: types, JSON Schema, the reference page and `config explain` come from here. */
import { z } from 'zod';
import { parseDuration, parseListen, parseLoopback, parseSize } from './scalars.ts';

const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

function text(expected: string, test: (value: string) => boolean): z.ZodString {
  return z
    .string()
    .refine((value) => test(value) && !hiddenCharacters.test(value), { error: `expected ${expected}` });
}

function form(expected: string, pattern: RegExp): z.ZodString {
  return text(expected, (value) => pattern.test(value));
}

const duration = text(
  'a duration such as 60s (ms, s, m, h; at most 24h)',
  (value) => parseDuration(value) !== null,
);
const size = text(
  'a size such as 1MiB (B, KiB, MiB, GiB; at most 1GiB)',
  (value) => parseSize(value) !== null,
);
const absolute = form('an absolute path, or one that begins with ~/', /^(?:\/|~\/|~$)/);
const environmentName = form('the name of an environment variable', /^[A-Za-z_][A-Za-z0-9_]*$/);
const concurrency = z
  .int({ error: 'expected a whole number from 1 to 1024' })
  .min(1, { error: 'expected a whole number from 1 to 1024' })
  .max(1024, { error: 'expected a whole number from 1 to 1024' });

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
    .describe('One of these is enough, also abbreviated or in a cluster.'),
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

const environment = z.record(
  environmentName,
  z
    .string({ error: 'expected a string' })
    .refine((value) => !value.includes('\0'), { error: 'expected a string without NUL' }),
);

const tool = z.strictObject({
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

/** As src/proxy/names.ts has it: `<server>__<tool>` can be read in one way only. */
export const serverNamePattern = /^(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,46}[A-Za-z0-9.-])?$/;
const serverName = form(
  "a name of at most 48 of A-Z a-z 0-9 . _ -, with a letter or digit first, without '__' and without '_' at the end",
  serverNamePattern,
);
const upstreamTools = z
  .array(form('the name of a tool', /^[A-Za-z0-9_.-]{1,128}$/), { error: 'expected a list of names' })
  .optional();

const mcpServer = z.strictObject({
  command: absolute.describe('The program, by its absolute path; it speaks MCP on its stdio.'),
  args: z
    .array(
      text('a string without control characters', () => true),
      { error: 'expected a list of strings' },
    )
    .optional()
    .describe('Its arguments.'),
  env: environment.optional().describe('Environment variables of the server, besides PATH, HOME and LANG.'),
  cwd: absolute.nullish().describe('Where it starts. Default: an empty folder of its own.'),
  allow: upstreamTools.describe('The tools that may be called, by their exact names; absent means none.'),
  deny: upstreamTools.describe('Tools that may not be called, whatever is allowed.'),
  start: z
    .enum(['eager', 'lazy'], { error: 'expected eager or lazy' })
    .optional()
    .describe('`eager`: with the gateway. Default `lazy`: when a client first lists or calls tools.'),
  pin: z
    .boolean()
    .optional()
    .describe(
      'Hide a tool whose description or schema is not the one that was first allowed, until `wraptool mcp accept`. Default true.',
    ),
  timeout: duration.optional().describe('Of one call, instead of `defaults.timeout`.'),
});

const toolName = form('a name of letters, digits, ".", "_" and "-"', /^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$/);

export const configSchema = z.strictObject({
  version: z.literal(1, { error: 'expected 1' }).describe('The version of this format.'),
  mcp: z
    .strictObject({
      listen: text('HOST:PORT', (value) => parseListen(value) !== null)
        .default('127.0.0.1:0')
        .describe(
          'For `serve`: the address, with Streamable HTTP at /mcp and legacy SSE at /sse. Port 0 takes a free one.',
        ),
      socket: absolute
        .nullable()
        .default(null)
        .describe('A Unix socket to listen on; `up` makes one per session.'),
      token_env: environmentName
        .default('WRAPTOOL_TOKEN')
        .describe(
          'The environment variable that holds the token for `serve`; `up` makes a token per session.',
        ),
      token_file: absolute
        .nullable()
        .default(null)
        .describe('A file with the token, instead of `token_env`.'),
      allowed_cwd_roots: z
        .array(absolute, { error: 'expected a list of folders' })
        .default([])
        .describe(
          'For `serve`: the folders a client’s working directory must lie in. Empty: it is not checked.',
        ),
      expose: z
        .enum(['tools', 'run', 'both'], { error: 'expected tools, run or both' })
        .default('both')
        .describe('One MCP tool per subcommand, the one tool `wraptool_run`, or both.'),
    })
    .prefault({})
    .describe('The gateway’s MCP side.'),
  admin: z
    .strictObject({
      listen: text(
        'HOST:PORT with an address of this machine alone, such as 127.0.0.1:0',
        (value) => parseLoopback(value) !== null,
      )
        .default('127.0.0.1:0')
        .describe('The address of the page: 127.0.0.1, [::1] or localhost. Port 0 takes a free one.'),
    })
    .optional()
    .describe('The operator’s web page. It is on where this block is there: `wraptool admin open`.'),
  requests: z
    .strictObject({
      log: absolute
        .optional()
        .describe(
          'The folder of the log. Default: `~/.local/state/wraptool/log` (under $XDG_STATE_HOME where that is set).',
        ),
      notify: z
        .array(
          text('a word of a command line', (value) => value !== ''),
          {
            error: 'expected a list of words, such as [notify-send, wraptool]',
          },
        )
        .default([])
        .refine(([program]) => program === undefined || /^(?:\/|~\/|[^/]+$)/.test(program), {
          error: 'expected a program’s name or an absolute path first',
        })
        .describe(
          'A program, with its arguments, that is run for each new request, with the request’s id and the name of its tool as last arguments. Not a shell. Its environment has PATH, HOME and what a desktop notification needs, nothing else; it is ended after 10 s.',
        ),
    })
    .prefault({})
    .describe('The log of calls and requests, and who is told of a request.'),
  defaults: z
    .strictObject({
      timeout: duration.default('60s').describe('How long a call may run.'),
      max_output: size.default('1MiB').describe('How much of stdout and of stderr is kept, head and tail.'),
      max_concurrent: concurrency.default(8).describe('How many calls of one tool run at once.'),
    })
    .prefault({})
    .describe('For tools that say nothing else.'),
  scrub: z
    .strictObject({
      values_from_env: z
        .array(environmentName, { error: 'expected a list of names' })
        .default([])
        .describe('Environment variables whose values are redacted in all output.'),
      patterns: z
        .array(
          z.strictObject({
            name: form('a name of letters, digits, ".", "_" and "-"', /^[A-Za-z0-9._-]{1,60}$/).describe(
              'What `[redacted:NAME]` says.',
            ),
            regex: z
              .string()
              .min(1, { error: 'expected a regular expression' })
              .describe('What is redacted.'),
          }),
          { error: 'expected a list of patterns' },
        )
        .default([])
        .describe('Further shapes of secrets.'),
    })
    .prefault({})
    .describe('What is redacted besides the well-known shapes of tokens.'),
  tools: z.record(toolName, tool).default({}).describe('The CLIs by the name under which they are called.'),
  mcp_servers: z
    .record(serverName, mcpServer)
    .default({})
    .describe(
      'MCP servers of the host whose tools are offered as `NAME__TOOL`, filtered by name. Their arguments are not constrained.',
    ),
  up: z
    .strictObject({
      runtime: z
        .enum(['auto', 'guix', 'devcontainer', 'bubblewrap'], {
          error: 'expected auto, guix, devcontainer or bubblewrap',
        })
        .default('auto')
        .describe('What the harness runs in; `auto` takes the first that works, in this order.'),
      harness_env: z
        .array(environmentName, { error: 'expected a list of names' })
        .default([])
        .describe('Environment variables that are passed into the container.'),
      extra_roots: z
        .array(absolute, { error: 'expected a list of folders' })
        .default([])
        .describe('Folders besides the workspace where calls may run; they are mounted too.'),
      network: z
        .enum(['private', 'host', 'none'], { error: 'expected private, host or none' })
        .default('private')
        .describe(
          '`private`: own network with outbound connections, the host’s loopback out of reach; guix shares the host’s network unless `none`.',
        ),
      confine_install: z
        .enum(['auto', 'none'], { error: 'expected auto or none' })
        .default('auto')
        .describe('`none`: install harnesses without confinement where it is not available.'),
      base_image: form('the name of an image', /^[a-z0-9][A-Za-z0-9._/:@-]{0,254}$/)
        .default('mcr.microsoft.com/devcontainers/base:bookworm')
        .describe('The image that the devcontainer runtime builds on; any with glibc and git.'),
    })
    .prefault({})
    .describe('Sessions of `wraptool up`.'),
  supervisor: z
    .strictObject({
      restart: z
        .enum(['never', 'on-crash'], { error: 'expected never or on-crash' })
        .default('never')
        .describe(
          '`on-crash`: start a gateway again that ended with an error or crashed, with growing pauses; it is unproven then.',
        ),
      probe_tool: form('the name of a tool', /^[A-Za-z0-9_.-]{1,128}$/)
        .default('wraptool_discover')
        .describe('The tool that a probe inside the runtime has to call before a gateway counts as clean.'),
    })
    .prefault({})
    .describe('What owns a session’s gateway.'),
});

/** The file’s content, defaults applied, text forms not yet read. */
export type ConfigInput = z.output<typeof configSchema>;
