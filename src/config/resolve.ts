/** Text forms read, `~` expanded, defaults of tools filled in. */
import path from 'node:path';
import { builtInName } from '../policy/grammars/built-in.ts';
import type { ArgSpec, ConstraintSpec, FlagSpec, RuleSpec, ToolSpec } from '../policy/spec.ts';
import type { McpServerConfig } from '../proxy/types.ts';
import { expandHome, parseDuration, parseListen, parseLoopback, parseSize } from './scalars.ts';
import type { ConfigInput } from './schema.ts';
import type { Config, ToolConfig } from './types.ts';

const loopback = { host: '127.0.0.1', port: 0 };

export type Places = { readonly home: string; readonly log: string };

export function resolveConfig(input: ConfigInput, places: Places): Config {
  const real = (text: string): string => tidy(expandHome(text, places.home));
  const { mcp, defaults } = input;
  const limits = {
    timeout: parseDuration(defaults.timeout) ?? 0,
    max_output: parseSize(defaults.max_output) ?? 0,
    max_concurrent: defaults.max_concurrent,
  };
  return {
    version: 1,
    mcp: {
      listen: parseListen(mcp.listen) ?? loopback,
      socket: mcp.socket === null ? null : real(mcp.socket),
      token_env: mcp.token_env,
      token_file: mcp.token_file === null ? null : real(mcp.token_file),
      allowed_cwd_roots: mcp.allowed_cwd_roots.map(real),
      expose: mcp.expose,
    },
    admin: input.admin === undefined ? null : { listen: parseLoopback(input.admin.listen) ?? loopback },
    defaults: limits,
    scrub: input.scrub,
    tools: Object.fromEntries(
      Object.entries(input.tools).map(([name, tool]) => [name, resolveTool(name, tool, limits, real)]),
    ),
    mcp_servers: Object.fromEntries(
      Object.entries(input.mcp_servers).map(([name, server]) => [name, resolveServer(server, limits, real)]),
    ),
    requests: {
      log: input.requests.log === undefined ? places.log : real(input.requests.log),
      notify: input.requests.notify.map((word, index) => (index === 0 ? real(word) : word)),
    },
    up: { ...input.up, extra_roots: input.up.extra_roots.map(real) },
    supervisor: input.supervisor,
  };
}

function resolveTool(
  name: string,
  tool: ConfigInput['tools'][string],
  limits: Config['defaults'],
  real: (text: string) => string,
): ToolConfig {
  return {
    binary: real(tool.binary),
    working_dir: tool.working_dir ? real(tool.working_dir) : null,
    env: tool.env ?? {},
    timeout: tool.timeout === undefined ? limits.timeout : (parseDuration(tool.timeout) ?? 0),
    max_output: tool.max_output === undefined ? limits.max_output : (parseSize(tool.max_output) ?? 0),
    max_concurrent: tool.max_concurrent ?? limits.max_concurrent,
    guard: tool.guard ?? (builtInName(name, tool.binary) === 'git' ? 'git' : 'none'),
    remotes: tool.remotes ?? {},
    confine: tool.confine ?? 'auto',
    home_files: (tool.home_files ?? []).map(real),
    help_argv: tool.help_argv ?? null,
  };
}

function resolveServer(
  server: ConfigInput['mcp_servers'][string],
  limits: Config['defaults'],
  real: (text: string) => string,
): McpServerConfig {
  return {
    command: real(server.command),
    args: server.args ?? [],
    env: server.env ?? {},
    cwd: server.cwd ? real(server.cwd) : null,
    allow: server.allow ?? [],
    deny: server.deny ?? [],
    start: server.start ?? 'lazy',
    pin: server.pin ?? true,
    timeout: server.timeout === undefined ? limits.timeout : (parseDuration(server.timeout) ?? 0),
  };
}

/** A trailing slash or a double one says nothing; `..` is left to the kernel. */
function tidy(text: string): string {
  const joined = text.replace(/\/{2,}/g, '/');
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined;
}

/** The `tools` section for the policy, with `~` expanded in the roots of paths. */
export function policyTools(tools: ConfigInput['tools'], home: string): Record<string, ToolSpec> {
  const rooted = <T extends ConstraintSpec | ArgSpec | FlagSpec>(spec: T): T =>
    Array.isArray(spec.path)
      ? { ...spec, path: spec.path.map((root: string) => expandHome(root, home)) }
      : spec;
  const expand = (rule: RuleSpec): RuleSpec => ({
    ...rule,
    ...(Array.isArray(rule.args) ? { args: rule.args.map(rooted) } : {}),
    ...(typeof rule.rest === 'object' ? { rest: rooted(rule.rest) } : {}),
    ...(typeof rule.end_of_options === 'object' ? { end_of_options: rooted(rule.end_of_options) } : {}),
    ...(rule.flag_constraints
      ? {
          flag_constraints: Object.fromEntries(
            Object.entries(rule.flag_constraints).map(([name, spec]) => [name, rooted(spec)]),
          ),
        }
      : {}),
  });
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { ...tool, allow: tool.allow?.map(expand) }]),
  );
}

/** Where something lies for messages: `tools.git.allow[0].flags`. */
export function showPath(keys: readonly (string | number)[]): string {
  return keys
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`))
    .join('');
}

export function defaultConfigFile(folder: string): string {
  return path.join(folder, 'config.yaml');
}
