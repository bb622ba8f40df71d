/** Facts about how one CLI reads its arguments. */

export type BuiltIn = {
  /** `single-dash`: long options have one dash and there are no clusters. */
  readonly options?: 'gnu' | 'single-dash';
  /** How a long option's value is written in the canonical form. */
  readonly longValues?: 'attached' | 'detached';
  readonly responseFiles?: boolean;
  readonly plusOptions?: boolean;
  readonly oldStyleOptions?: boolean;
  /** Subcommand paths, words separated by spaces; a path implies its shorter ones. */
  readonly subcommands?: readonly string[];
  /** Options that take the next word, by subcommand path (`''` for all): what a rule leaves open is read so. */
  readonly valueFlags?: Readonly<Record<string, readonly string[]>>;
  /** Characters by which this CLI makes more of an option's value than the one thing that the rule judges. */
  readonly special?: Readonly<Record<string, string>>;
  /** Paths where the first positional ends the options, unless the rule says otherwise (`''` is the bare tool). */
  readonly stopsAtPositional?: readonly string[];
  /** Positionals are written before the options. */
  readonly positionalsFirst?: boolean;
  /** With `positionalsFirst`: options that have to stand before the positionals. */
  readonly leadingFlags?: readonly string[];
  /** Words that a bare flag directly before them takes for its value. */
  readonly swallowed?: readonly string[];
  /** Words without a dash that are part of an expression, never a positional. */
  readonly operators?: readonly string[];
  /** Any number of dashes and any prefix names an option (for deny rules). */
  readonly looseDashes?: boolean;
  /** Options are still read directly after the first positional, even where it ends them. */
  readonly lateOptions?: boolean;
};

export type Grammar = {
  readonly options: 'gnu' | 'single-dash';
  readonly longValues: 'attached' | 'detached';
  readonly responseFiles: boolean;
  readonly plusOptions: boolean;
  readonly oldStyleOptions: boolean;
  readonly facts: BuiltIn;
};

/** The words of a text. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Subcommand paths: each word of the text below `group`. */
export function below(group: string, text: string): string[] {
  return words(text).map((word) => `${group} ${word}`);
}
