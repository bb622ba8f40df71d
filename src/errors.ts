/**
 * The one error type that crosses module borders, and the closed list of its codes.
 * Every code has a line in docs/errors.md. Policy reason codes are a vocabulary of their own (policy/types.ts).
 */
export const errorCodes = {
  usage: { exit: 2, summary: 'the command line is wrong' },
  config_invalid: { exit: 2, summary: 'the config file has errors' },
  config_missing: { exit: 2, summary: 'there is no config file' },
  unsafe_location: { exit: 2, summary: 'a file that must be the operator’s could be written by somebody else' },
  binary_invalid: { exit: 2, summary: 'a configured binary is missing, not executable, or agent-writable' },
  harness_unknown: { exit: 2, summary: 'there is no harness of that name' },
  harness_invalid: { exit: 2, summary: 'a harness descriptor has errors' },
  harness_install_failed: { exit: 1, summary: 'the harness could not be installed' },
  runtime_unknown: { exit: 2, summary: 'there is no runtime of that name' },
  runtime_unavailable: { exit: 1, summary: 'the runtime cannot run on this machine' },
  runtime_failed: { exit: 1, summary: 'the runtime started and failed' },
  confine_unavailable: { exit: 1, summary: 'bubblewrap cannot confine here' },
  network_unavailable: { exit: 1, summary: 'a private network cannot be made here' },
  workspace_refused: { exit: 2, summary: 'that folder cannot be a workspace' },
  session_exists: { exit: 2, summary: 'a session of that name is running' },
  session_unknown: { exit: 2, summary: 'there is no session of that name' },
  address_in_use: { exit: 1, summary: 'the address is taken' },
  gateway_failed: { exit: 1, summary: 'the gateway did not start or ended' },
  log_unavailable: { exit: 1, summary: 'the log cannot be written' },
  internal: { exit: 1, summary: 'a fault of wraptool itself' },
} as const;

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
