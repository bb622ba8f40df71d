/** What a help text says that a tool takes. Nothing of it is trusted: it describes, it allows nothing. */

export type FlagValue = 'none' | 'required' | 'optional';

export type HelpFlag = {
  /** With its dashes; a name of several letters behind one dash is a long one. */
  readonly long: string | null;
  /** `-x`, or null. */
  readonly short: string | null;
  readonly value: FlagValue;
  readonly description: string;
};

export type Help = {
  /** Name to the first line of its description ('' where it has none). */
  readonly subcommands: Readonly<Record<string, string>>;
  readonly flags: readonly HelpFlag[];
};

/** One entry of a text before names are parted: all names of one flag. */
export type FlagEntry = {
  readonly names: readonly string[];
  readonly value: FlagValue;
  readonly description: string;
};
