/**
 * The one error type that crosses module borders, and the closed list of its codes.
 * Every code has a line in docs/errors.md. Policy reason codes are a vocabulary of their own (policy/types.ts).
 */
export const errorCodes = {
  usage: { exit: 2, summary: 'the command line is wrong', mend: 'see `wraptool COMMAND --help`' },
  config_invalid: {
    exit: 2,
    summary: 'the config file has errors',
    mend: 'mend the places that are listed; `wraptool config check` shows them again',
  },
  config_missing: { exit: 2, summary: 'there is no config file', mend: '`wraptool init` writes a starter' },
  unsafe_location: {
    exit: 2,
    summary: 'others could write, or an agent could reach, a file of the operator',
    mend: 'move the file, or take the write permission from others (`chmod go-w`)',
  },
  binary_invalid: {
    exit: 2,
    summary: 'a configured binary is missing, not executable, or agent-writable',
    mend: 'name an ELF file or a script with a `#!` line that only root or you can write',
  },
  harness_unknown: { exit: 2, summary: 'there is no harness of that name', mend: '`wraptool harness list`' },
  harness_invalid: {
    exit: 2,
    summary: 'a harness descriptor has errors',
    mend: 'mend the descriptor at the place that is named',
  },
  harness_exists: {
    exit: 2,
    summary: 'another descriptor of that name was added before',
    mend: 'compare the two; `--replace` takes the new one',
  },
  harness_check_failed: {
    exit: 1,
    summary: 'the client did not find its gateway, or is not what its descriptor says',
    mend: 'read what it said; another version may need another descriptor',
  },
  harness_install_failed: {
    exit: 1,
    summary: 'the harness could not be installed',
    mend: 'read the reason; `--harness-version` takes another version',
  },
  home_unsafe: {
    exit: 2,
    summary: 'the harness HOME holds a link or a special file where wraptool writes',
    mend: 'look at it, remove it, start again',
  },
  runtime_unknown: {
    exit: 2,
    summary: 'there is no runtime of that name',
    mend: 'auto, guix, devcontainer or bubblewrap',
  },
  runtime_unavailable: {
    exit: 1,
    summary: 'the runtime cannot run on this machine',
    mend: 'install or start what is missing, or name another one with `--runtime`',
  },
  not_removed: {
    exit: 1,
    summary: 'something that is left over could not be removed',
    mend: 'read the reason, mend it, `wraptool prune` again',
  },
  runtime_failed: {
    exit: 1,
    summary: 'the runtime started and failed',
    mend: 'read the reason, then start again',
  },
  confine_unavailable: {
    exit: 1,
    summary: 'bubblewrap cannot confine here',
    mend: 'install bubblewrap and allow user namespaces',
  },
  network_unavailable: {
    exit: 1,
    summary: 'a private network cannot be made here',
    mend: 'install slirp4netns or passt, or set `up.network`',
  },
  workspace_refused: {
    exit: 2,
    summary: 'that folder cannot be a workspace',
    mend: 'name a project folder with `--workspace`',
  },
  devcontainer_missing: {
    exit: 2,
    summary: 'the workspace has no dev container definition',
    mend: 'leave `--devcontainer` out, or name the definition with `--definition`',
  },
  devcontainer_unapproved: {
    exit: 3,
    summary: 'the workspace’s dev container definition was not approved, or has changed since',
    mend: 'read what it reaches, then `wraptool devcontainer approve`',
  },
  devcontainer_refused: {
    exit: 3,
    summary: 'the workspace’s dev container definition cannot be used as it is',
    mend: 'change what is listed in the definition, then approve it',
  },
  session_exists: {
    exit: 2,
    summary: 'a session of that name is running',
    mend: '`wraptool down NAME`, or another `--name`',
  },
  session_unknown: { exit: 2, summary: 'there is no session of that name', mend: '`wraptool ps`' },
  state_damaged: {
    exit: 1,
    summary: 'a file of wraptool’s own state is not readable as one',
    mend: 'look at the file that is named; move it away if it is of no use',
  },
  namespace_unknown: {
    exit: 3,
    summary: 'there is no live or recorded namespace of that name',
    mend: '`wraptool restart policy` lists them',
  },
  session_unreachable: {
    exit: 1,
    summary: 'the supervisor of a session does not answer',
    mend: '`wraptool inspect NAME` shows what is known of it; `wraptool down NAME` ends it',
  },
  preflight_failed: {
    exit: 1,
    summary: 'the runtime is there, but a check inside it failed; the harness was not started',
    mend: 'mend what each line names, then start again',
  },
  admin_not_running: {
    exit: 1,
    summary: 'no operator’s page is served',
    mend: 'write `admin: {}` into the config; the page runs with `wraptool up` and `wraptool serve`',
  },
  address_in_use: {
    exit: 1,
    summary: 'the address is taken',
    mend: 'another address in `mcp.listen`, or end what holds it',
  },
  gateway_failed: {
    exit: 1,
    summary: 'the gateway did not start or ended',
    mend: 'read its log in the session’s folder',
  },
  log_unavailable: {
    exit: 1,
    summary: 'the log cannot be written',
    mend: 'make the folder of `requests.log` writable',
  },
  unknown_tool: {
    exit: 3,
    summary: 'the config has no such tool',
    mend: 'add `tools.NAME.binary` first',
  },
  denied_by_rule: {
    exit: 3,
    summary: 'a deny rule would refuse it all the same',
    mend: 'change the deny rule by hand if it is really meant to be allowed',
  },
  request_malformed: {
    exit: 3,
    summary: 'what is asked for cannot be written as a rule',
    mend: 'look at the text that is named: empty, or with characters that do not show',
  },
  request_unknown: {
    exit: 2,
    summary: 'there is no request, or no grant, of that id',
    mend: '`wraptool requests list --all` and `wraptool grants list --all` show them all',
  },
  request_decided: {
    exit: 3,
    summary: 'the request was decided already, or the grant has ended',
    mend: '`wraptool requests show ID` says how',
  },
  request_stale: {
    exit: 3,
    summary: 'what was shown has changed since: the request, the program, the config or the change to it',
    mend: 'look at it again, then approve what is shown now',
  },
  request_unmet: {
    exit: 3,
    summary: 'approving would not allow the call: something else refuses it too',
    mend: 'read the reason; what no rule of the subcommand can allow is to be changed in the config by hand',
  },
  syntax_error: {
    exit: 3,
    summary: 'a file that was to be edited does not parse',
    mend: 'mend it at the place that is named; it was left alone',
  },
  duplicate_key: {
    exit: 3,
    summary: 'a file that was to be edited has a key twice',
    mend: 'take one of them out; the file was left alone',
  },
  anchor_in_policy: {
    exit: 3,
    summary: 'the policy has an anchor, an alias or a merge key',
    mend: 'write the value out at each place',
  },
  wrong_type: {
    exit: 3,
    summary: 'a value in a file that was to be edited is of the wrong type',
    mend: 'mend it at the place that is named; the file was left alone',
  },
  shared_value: {
    exit: 3,
    summary: 'what was to be edited is used in several places of the file',
    mend: 'write it out where it is meant to change',
  },
  multiple_documents: {
    exit: 3,
    summary: 'a YAML file holds more than one document',
    mend: 'keep one document in the file',
  },
  not_utf8: { exit: 3, summary: 'a file is not UTF-8', mend: 'convert it to UTF-8' },
  result_invalid: {
    exit: 3,
    summary: 'the edited file would not load, or say something else than meant',
    mend: 'make the change by hand; the file was left alone',
  },
  edit_failed: {
    exit: 1,
    summary: 'a file could not be edited; it is as it was',
    mend: 'read the reason, then try again',
  },
  edit_conflict: {
    exit: 1,
    summary: 'another program keeps changing the file',
    mend: 'close what else writes to it, then try again',
  },
  introspect_refused: {
    exit: 3,
    summary: 'nothing is known to make that program print its help and do nothing else',
    mend: 'name what does in `tools.NAME.help_argv`',
  },
  introspect_failed: {
    exit: 1,
    summary: 'the help of a program could not be read',
    mend: 'read the reason; `tools.NAME.help_argv` names other arguments',
  },
  machine_refused: {
    exit: 1,
    summary: 'the machine refused something: a full disk, a missing permission, a read-only file system',
    mend: 'mend what the hint names, then start again',
  },
  internal: {
    exit: 1,
    summary: 'a fault of wraptool itself',
    mend: 'report it with the output under `WRAPTOOL_DEBUG=1`',
  },
} as const satisfies Record<string, { exit: 1 | 2 | 3; summary: string; mend: string }>;

export type ErrorCode = keyof typeof errorCodes;

export class WraptoolError extends Error {
  override readonly name = 'WraptoolError';
  readonly code: ErrorCode;
  /** What to do next, one sentence without a full stop. */
  readonly hint: string | undefined;
  /** Further located problems, each a line of its own (config errors). */
  readonly problems: readonly string[];

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string | undefined; cause?: unknown; problems?: readonly string[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.problems = options.problems ?? [];
  }
}
