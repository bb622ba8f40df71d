/** The config after parsing: defaults applied, durations in ms, sizes in bytes, `~` expanded. */
import type { Policy } from '../policy/compile.ts';
import type { Problem } from '../policy/spec.ts';
import type { McpServerConfig } from '../proxy/types.ts';
import type { ConfigInput } from './schema.ts';

export type ToolConfig = {
  readonly binary: string;
  readonly working_dir: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly max_output: number;
  readonly max_concurrent: number;
  /** Resolved default included: `git` for a binary named git unless `none`. */
  readonly guard: 'git' | 'none';
  readonly remotes: Readonly<Record<string, string>>;
  readonly confine: 'auto' | 'none';
  readonly home_files: readonly string[];
  /** Null: what is known of the program, else `--help`. Empty: never run for its help. */
  readonly help_argv: readonly string[] | null;
};

export type Config = {
  readonly version: 1;
  readonly mcp: {
    readonly listen: { readonly host: string; readonly port: number };
    readonly socket: string | null;
    readonly token_env: string;
    readonly token_file: string | null;
    readonly allowed_cwd_roots: readonly string[];
    readonly expose: ConfigInput['mcp']['expose'];
  };
  /** Null: there is no web page. */
  readonly admin: { readonly listen: { readonly host: string; readonly port: number } } | null;
  readonly defaults: {
    readonly timeout: number;
    readonly max_output: number;
    readonly max_concurrent: number;
  };
  readonly scrub: {
    readonly values_from_env: readonly string[];
    readonly patterns: readonly { readonly name: string; readonly regex: string }[];
  };
  readonly tools: Readonly<Record<string, ToolConfig>>;
  readonly mcp_servers: Readonly<Record<string, McpServerConfig>>;
  readonly requests: { readonly log: string; readonly notify: readonly string[] };
  readonly up: Readonly<Omit<ConfigInput['up'], 'harness_env' | 'extra_roots'>> & {
    readonly harness_env: readonly string[];
    readonly extra_roots: readonly string[];
  };
  readonly supervisor: Readonly<ConfigInput['supervisor']>;
};

/** One frozen value per load; a call holds the snapshot that it began with. */
export type Snapshot = {
  /** Real path of the file. */
  readonly file: string;
  /** sha256 of the file's bytes, hex. */
  readonly hash: string;
  /** The file's text, byte order mark included. */
  readonly text: string;
  readonly config: Config;
  readonly policy: Policy;
  /** What is doubtful: shown by `config check`, never a reason to refuse. */
  readonly warnings: readonly (Problem & { readonly line: number })[];
};
