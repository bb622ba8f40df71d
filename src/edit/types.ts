/** What an edit is, and why one may be refused. */

/** What JSON can say: the values that are written into configs. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** At offset `at` (UTF-16, the byte order mark set aside) the text `remove` stands and gives way to `insert`. */
export type Change = { readonly at: number; readonly remove: string; readonly insert: string };

export type RefusalCode =
  | 'unknown_tool'
  | 'denied_by_rule'
  | 'request_malformed'
  | 'config_invalid'
  | 'syntax_error'
  | 'duplicate_key'
  | 'anchor_in_policy'
  | 'wrong_type'
  | 'shared_value'
  | 'multiple_documents'
  | 'not_utf8'
  | 'result_invalid';

/** `why` is one sentence without a full stop; line and column are 1-based and stand where a place in the file is meant. */
export type Refusal = {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly why: string;
  readonly line?: number;
  readonly column?: number;
};

export type Edited = {
  readonly ok: true;
  /** The whole new text, byte order mark included. Equal to the old text where nothing had to change. */
  readonly text: string;
  /** Sorted by offset; empty where nothing had to change. */
  readonly changes: readonly Change[];
  /** A unified diff without file names, empty where nothing changed. */
  readonly diff: string;
  /** For people, each a line without a full stop. */
  readonly notes: readonly string[];
};

export type Outcome = Edited | Refusal;

export type Format = 'json' | 'jsonc' | 'toml' | 'yaml';

/** What a client’s parser of JSON takes beyond JSON. */
export type Grammar = { readonly comments: boolean; readonly trailingCommas: boolean };
