/** What `compile` reads: the `tools` section as the operator wrote it, already of the right types. */

export type ConstraintSpec = {
  enum?: readonly string[] | undefined;
  /** JavaScript regular expression (flag u), matched in full. */
  pattern?: string | undefined;
  /** `cwd`, or folders that a path must lie in. */
  path?: 'cwd' | readonly string[] | undefined;
  ext?: string | readonly string[] | undefined;
  type?: 'int' | 'path' | 'url' | undefined;
  min?: number | undefined;
  max?: number | undefined;
  /** Tab and newline are allowed in the value. */
  multiline?: boolean | undefined;
};

export type ArgSpec = ConstraintSpec & { optional?: boolean | undefined };

export type FlagSpec = ConstraintSpec & {
  short?: string | undefined;
  value?: 'none' | 'optional' | 'required' | undefined;
  required?: boolean | undefined;
  repeat?: boolean | undefined;
  dash_value?: boolean | undefined;
};

export type Example = string | readonly string[];

export type RuleSpec = {
  subcommand?: string | undefined;
  flags?: 'any' | readonly string[] | null | undefined;
  flag_constraints?: Readonly<Record<string, FlagSpec>> | undefined;
  args?: 'any' | readonly ArgSpec[] | undefined;
  rest?: 'any' | ConstraintSpec | undefined;
  end_of_options?: boolean | ConstraintSpec | undefined;
  interspersed?: boolean | undefined;
  read_only?: boolean | undefined;
  stdin?: boolean | undefined;
  match?: readonly Example[] | undefined;
  not_match?: readonly Example[] | undefined;
};

export type DenySpec = {
  subcommand?: string | undefined;
  flags?: readonly string[] | null | undefined;
  args_pattern?: string | undefined;
  match?: readonly Example[] | undefined;
  not_match?: readonly Example[] | undefined;
};

export type GrammarSpec = {
  options?: 'gnu' | 'single-dash' | undefined;
  long_values?: 'attached' | 'detached' | undefined;
  response_files?: boolean | undefined;
  plus_options?: boolean | undefined;
  old_style_options?: boolean | undefined;
};

export type ToolSpec = {
  binary: string;
  global_flags?: readonly string[] | undefined;
  grammar?: GrammarSpec | undefined;
  allow?: readonly RuleSpec[] | null | undefined;
  deny?: readonly DenySpec[] | null | undefined;
};

/** Where in the config something is: keys and list indices from the root. */
export type ConfigPath = readonly (string | number)[];

/** What is wrong (or doubtful) at one place of the config; a sentence without a full stop. */
export type Problem = { readonly path: ConfigPath; readonly message: string };
