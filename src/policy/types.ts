/** Vocabulary of policy: what is asked, and what was decided. Pure data. */

export const reasonCodes = [
  'tool_not_allowed',
  'no_allow_rules',
  'subcommand_not_allowed',
  'denied_by_rule',
  'global_flag_not_allowed',
  'flag_not_allowed',
  'flag_value_not_allowed',
  'flag_value_missing',
  'flag_value_unexpected',
  'flag_value_ambiguous',
  'flag_repeated',
  'flag_required',
  'arg_not_allowed',
  'arg_missing',
  'path_not_allowed',
  'end_of_options_not_allowed',
  'response_file_not_allowed',
  'old_style_options_not_allowed',
  'plus_option_not_allowed',
  'argument_malformed',
  'request_malformed',
  'cwd_outside_roots',
  'cwd_invalid',
  'cwd_not_found',
  'guard_refused',
  'upstream_tool_not_allowed',
  'runtime_unproven',
  'quiescing',
  'busy',
  'log_unavailable',
] as const;

export type ReasonCode = (typeof reasonCodes)[number];

/** A call as typed after the tool's name. */
export type Call = { readonly tool: string; readonly argv: readonly string[] };

/** The outcome of the cwd stage, handed in so that policy stays pure and the order of judgement exact. */
export type CwdVerdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly code: 'cwd_outside_roots' | 'cwd_invalid' | 'cwd_not_found';
      readonly detail: string;
    };

/** Where a rule stands: 1-based line of the rule in the config file. */
export type RuleRef = {
  readonly file: string;
  readonly line: number;
  readonly effect: 'allow' | 'deny';
};

export type Allowed = {
  readonly decision: 'allow';
  readonly tool: string;
  /** Subcommand words, empty for a bare tool. */
  readonly subcommand: readonly string[];
  /** Canonical argv after the binary: the only thing that is ever run. */
  readonly argv: readonly string[];
  readonly rule: RuleRef;
  readonly readOnly: boolean;
  readonly stdin: boolean;
};

export type Denied = {
  readonly decision: 'deny';
  readonly reason: ReasonCode;
  /** One sentence without a full stop at most a line long, for people. */
  readonly detail: string;
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly argv: readonly string[];
  /** The token that was refused, or null. */
  readonly offending: string | null;
  /** The flag that is at fault by the name that was used, where one is. */
  readonly flag?: string | null;
  readonly allowedFlags: readonly string[];
  readonly rule: RuleRef | null;
};

export type Decision = Allowed | Denied;
