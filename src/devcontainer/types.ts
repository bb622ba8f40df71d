/** What in a definition reaches the host: the vocabulary. */

export type Code =
  | 'initialize_command'
  | 'privileged'
  | 'cap_add'
  | 'security_opt'
  | 'run_args'
  | 'host_namespace'
  | 'docker_socket'
  | 'mount_outside_workspace'
  | 'workspace_mount'
  | 'compose_file'
  | 'build_context_outside'
  | 'dockerfile_outside'
  | 'build_options'
  | 'feature_local'
  | 'feature_remote'
  | 'local_env'
  | 'published_port'
  | 'override_command'
  | 'user_env_probe'
  | 'image_metadata'
  | 'lifecycle_command'
  | 'extends'
  | 'unknown_property'
  | 'parse_error'
  | 'symlink_outside';

/** host: it reaches the host, or nobody can say without fetching something. info: it stays in the container. */
export type Severity = 'host' | 'info';

export type Finding = {
  readonly code: Code;
  /** JSON Pointer (RFC 6901) into the parsed definition; empty for the whole file. */
  readonly json_path: string;
  readonly severity: Severity;
  /** `arg`: the text that does it, as written. */
  readonly detail: { readonly arg?: string; readonly why: string };
  /** Where it is not the definition itself: path relative to the workspace. */
  readonly file?: string;
};

export type Verdict = {
  readonly code: Code;
  readonly severity: Severity;
  readonly why: string;
};

/** Where a path of the host leads. `link`: it is in the workspace, and a link leads out of it. */
export type Where = 'inside' | 'outside' | 'link';

/** All that judging asks the file system. */
export type Ground = {
  /** The workspace, absolute, without links. */
  readonly workspace: string;
  /** Where an absolute path leads, links followed. */
  where(path: string): Promise<Where>;
  /** Bytes of a plain file that lies in the workspace, links followed as far as they stay in it; null: none such. */
  read(path: string): Promise<Buffer | null>;
};

/** One step down a JSON Pointer. */
export function pointer(...steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
