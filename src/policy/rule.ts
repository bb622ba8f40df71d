/** Compiled rules. */
import type { Constraint } from './constraint.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { Pattern } from './pattern/pattern.ts';
import type { RuleRef } from './types.ts';

export type Flag = {
  /** As listed under `flags`: the name that is written in the canonical form. */
  readonly name: string;
  readonly short: string | null;
  /** `open`: listed without a constraint, so bare or with an attached `=value`. */
  readonly value: 'none' | 'optional' | 'required' | 'open';
  /** An open flag that the CLI is known to give the next word: never bare. */
  readonly neverBare: boolean;
  readonly constraint: Constraint;
  readonly required: boolean;
  readonly repeat: boolean;
  readonly dashValue: boolean;
  /** No value may have one of these characters, unless an enum names it. */
  readonly special: string;
};

export type Slot = { readonly constraint: Constraint; readonly optional: boolean };

/**
 * What a rule says of the words after its subcommand. Rules that say the same have one between them: a decision then
 * reads memory that the processor has at hand, however many rules there are.
 */
export type Terms = {
  readonly anyFlags: boolean;
  /** By every name (long and short). */
  readonly flags: ReadonlyMap<string, Flag>;
  /** What a denial lists: the names in the canonical form, and `any`. */
  readonly flagNames: readonly string[];
  readonly required: readonly Flag[];
  /** Flags with a short form. */
  readonly aliased: readonly Flag[];
  readonly anyArgs: boolean;
  readonly args: readonly Slot[];
  /** How many of `args` cannot be left out. */
  readonly fewestArgs: number;
  readonly rest: Constraint | null;
  /** null: `--` is not accepted; true: what follows are ordinary positionals; else their own constraint. */
  readonly endOfOptions: true | Constraint | null;
  readonly interspersed: boolean;
  readonly readOnly: boolean;
  readonly stdin: boolean;
};

export type AllowRule = {
  readonly ref: RuleRef;
  readonly tool: string;
  readonly path: readonly string[];
  readonly terms: Terms;
};

export type DenyRule = {
  readonly ref: RuleRef;
  readonly tool: string;
  readonly path: readonly string[];
  /** With neither flags nor a pattern everything is denied. */
  readonly everything: boolean;
  /** Names with their dashes, `_` written as `-`. */
  readonly flags: readonly string[];
  readonly letters: ReadonlySet<string>;
  readonly argsPattern: Pattern | null;
};

/** One word of a subcommand path, with what stands on it and below. */
export type Word = {
  readonly next: ReadonlyMap<string, Word>;
  readonly allow: readonly AllowRule[];
  readonly deny: readonly DenyRule[];
};

export type ToolPolicy = {
  readonly name: string;
  readonly grammar: Grammar;
  readonly globalFlags: ReadonlySet<string>;
  readonly root: Word;
  readonly allowCount: number;
  readonly denyCount: number;
  /** argv of every `match` and `not_match` of its rules. */
  readonly examples: readonly (readonly string[])[];
};

/** Everything that decides; never changes after it was made. */
export type Policy = {
  readonly tools: ReadonlyMap<string, ToolPolicy>;
};
