/** The one source of the config: types, JSON Schema, the reference page and `config explain` come from here. */
import { z } from '../zod.ts';
import { parseListen, parseLoopback } from './scalars.ts';
import { absolute, concurrency, duration, environmentName, form, size, text } from './schema-text.ts';
import { environment, tool } from './schema-tool.ts';

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
