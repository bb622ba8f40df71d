/**
 * argv after the subcommand words -> flags and positionals, as one rule and the tool's grammar read it, and back
 * into the one canonical form. Strict: what could be read in two ways is refused.
 */
import { hasHidden, show } from './text.ts';
import { judge, type Verdict } from './constraint.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { AllowRule, Flag, Terms } from './rule.ts';
import type { ReasonCode } from './types.ts';

/** One flag as it will be written. */
type Written = { readonly flag: Flag | null; readonly words: readonly string[] };

export type Positional = { readonly text: string; readonly index: number; readonly afterEnd: boolean };

export type Refusal = {
  readonly reason: ReasonCode;
  readonly detail: string;
  readonly offending: string | null;
  /** The flag's name where one is at fault. */
  readonly flag: string | null;
  /** How far the rule got: greater is further. */
  readonly progress: number;
};

export const progressOf = { positional: 2000, missing: 5000, required: 6000 } as const;

/** Reads argv from `from` on as one rule does; what it found stands in its fields. */
export class Reader {
  readonly rule: AllowRule;
  readonly terms: Terms;
  readonly grammar: Grammar;
  readonly argv: readonly string[];
  readonly from: number;
  /** Whether `from` is the first word of the tool's argv, which some CLIs read apart. */
  readonly first: boolean;
  readonly flags: Written[] = [];
  readonly positionals: Positional[] = [];
  /** Flags and positionals in the order given, of a rule that must not be reordered. */
  readonly order: string[] | null;
  /** Whether `--` was given. */
  ended = false;
  at: number;

  constructor(rule: AllowRule, grammar: Grammar, argv: readonly string[], from: number, first: boolean) {
    this.rule = rule;
    this.terms = rule.terms;
    this.grammar = grammar;
    this.argv = argv;
    this.from = from;
    this.first = first;
    this.order = keepsOrder(this.terms) ? [] : null;
    this.at = from;
  }

  /** Why the rule cannot read this argv (`at` is where), or null. */
  read(): Refusal | null {
    for (; this.at < this.argv.length; this.at++) {
      const refusal = this.token(this.argv[this.at] ?? '');
      if (refusal) return refusal;
    }
    return null;
  }

  refuse(reason: ReasonCode, detail: string, offending: string | null, flag: string | null = null): Refusal {
    return { reason, detail, offending, flag, progress: this.at - this.from };
  }

  token(token: string): Refusal | null {
    const positionalsOnly = this.ended || (!this.terms.interspersed && this.positionals.length > 0);
    if (positionalsOnly || !token.startsWith('-') || token === '-') return this.positional(token);
    if (token === '--') {
      if (this.terms.endOfOptions === null)
        return this.refuse('end_of_options_not_allowed', `'--' is not allowed for ${this.command()}`, token);
      this.ended = true;
      this.order?.push(token);
      return null;
    }
    if (this.grammar.options === 'single-dash' || token.startsWith('--')) return this.long(token);
    return this.cluster(token);
  }

  positional(token: string): Refusal | null {
    if (this.grammar.oldStyleOptions && this.first && this.at === this.from && token !== '-')
      return this.refuse(
        'old_style_options_not_allowed',
        `'${show(token)}' in first place is read as a cluster of options`,
        token,
      );
    if (this.grammar.responseFiles && token.startsWith('@'))
      return this.refuse(
        'response_file_not_allowed',
        `'${show(token)}' names a file with more arguments`,
        token,
      );
    if (this.grammar.plusOptions && token.startsWith('+'))
      return this.refuse('plus_option_not_allowed', `'${show(token)}' is read as an option`, token);
    this.positionals.push({ text: token, index: this.at, afterEnd: this.ended });
    this.order?.push(token);
    return null;
  }

  long(token: string): Refusal | null {
    const equals = token.indexOf('=');
    const name = equals < 0 ? token : token.slice(0, equals);
    const attached = equals < 0 ? null : token.slice(equals + 1);
    const flag = this.terms.flags.get(name);
    if (flag) return this.known(flag, name, attached);
    return this.terms.anyFlags ? this.verbatim(token) : this.unknown(name);
  }

  /** `-abc`, `-xVALUE` and, where a rule lists it, `-name` whole. */
  cluster(token: string): Refusal | null {
    const equals = token.indexOf('=');
    const name = equals < 0 ? token : token.slice(0, equals);
    const whole = name.length > 2 ? this.terms.flags.get(name) : undefined;
    if (whole)
      return equals < 0
        ? this.known(whole, name, null)
        : (this.repeated(whole, name) ?? this.ambiguous(name, token));
    if (token.length === 2) {
      const flag = this.terms.flags.get(token);
      if (flag) return this.known(flag, token, null);
      return this.terms.anyFlags ? this.verbatim(token) : this.unknown(token);
    }
    const letters = Array.from(token.slice(1));
    for (const [index, letter] of letters.entries()) {
      const short = `-${letter}`;
      const rest = letters.slice(index + 1).join('');
      const flag = this.terms.flags.get(short);
      if (!flag && !this.terms.anyFlags) return this.unknown(short);
      const refusal =
        (flag && this.repeated(flag, short)) ?? (rest.startsWith('=') ? this.ambiguous(short, token) : null);
      if (refusal) return refusal;
      if (!flag) return this.verbatim(`-${letter}${rest}`);
      const takes = flag.value === 'required' || flag.value === 'optional';
      if (takes) return this.known(flag, short, rest === '' ? null : rest);
      const bare = this.known(flag, short, null);
      if (bare) return bare;
    }
    return null;
  }

  known(flag: Flag, name: string, attached: string | null): Refusal | null {
    const repeated = this.repeated(flag, name);
    if (repeated) return repeated;
    let value = attached;
    if (flag.value === 'none' && value !== null)
      return this.refuse(
        'flag_value_unexpected',
        `flag '${name}' takes no value`,
        this.argv[this.at] ?? null,
        name,
      );
    if (value === null && flag.neverBare)
      return this.refuse(
        'flag_value_missing',
        `flag '${name}' needs a value, written '${name}=VALUE'`,
        name,
        name,
      );
    if (value === null && flag.value === 'required') {
      const next = this.argv[this.at + 1];
      if (next === undefined)
        return this.refuse('flag_value_missing', `flag '${name}' needs a value`, name, name);
      if (next.startsWith('-') && next !== '-' && !flag.dashValue)
        return this.refuse(
          'flag_value_ambiguous',
          `the value '${show(next)}' of flag '${name}' could be read as a flag`,
          next,
          name,
        );
      value = next;
    }
    const refusal = value === null ? null : this.value(flag, name, value);
    if (refusal) return refusal;
    if (value !== null && attached === null) this.at++;
    return this.write(flag, name, value);
  }

  repeated(flag: Flag, name: string): Refusal | null {
    if (flag.repeat || !this.has(flag)) return null;
    return this.refuse('flag_repeated', `flag '${name}' may be given only once`, name, name);
  }

  /** Whether the flag was given, under any of its names. */
  has(flag: Flag): boolean {
    return this.flags.some((written) => written.flag === flag);
  }

  value(flag: Flag, name: string, value: string): Refusal | null {
    if (hasHidden(value, flag.constraint.multiline))
      return this.refuse(
        'argument_malformed',
        `the value of flag '${name}' has hidden characters`,
        value,
        name,
      );
    const verdict = judge(flag.constraint, value) ?? this.special(flag, value);
    if (!verdict) return null;
    return this.refuse(
      verdict.path ? 'path_not_allowed' : 'flag_value_not_allowed',
      `value '${show(value)}' of flag '${name}' is not allowed for ${this.command()}: ${show(verdict.why, 240)}`,
      value,
      name,
    );
  }

  special(flag: Flag, value: string): Verdict | null {
    for (const character of flag.special)
      if (value.includes(character))
        return { path: flag.constraint.path !== null, why: `'${character}' has a meaning of its own in it` };
    return null;
  }

  /** The flag by its listed name, its value as this CLI reads it. */
  write(flag: Flag, name: string, value: string | null): Refusal | null {
    const words = value === null ? [flag.name] : writeValue(flag, value, this.grammar);
    if (words === null)
      return this.refuse(
        'flag_value_ambiguous',
        `the value '${show(value ?? '')}' of flag '${name}' could be read as a flag`,
        value,
        name,
      );
    if (this.grammar.responseFiles && words.length > 1 && words[1]?.startsWith('@'))
      return this.refuse(
        'response_file_not_allowed',
        `'${show(value ?? '')}' names a file with more arguments`,
        value,
        name,
      );
    this.flags.push({ flag, words });
    this.order?.push(...words);
    return null;
  }

  /** A flag that only `flags: any` admits: as it was given. */
  verbatim(token: string): Refusal | null {
    if (hasHidden(token, false))
      return this.refuse('argument_malformed', `'${show(token)}' has hidden characters`, token);
    if (this.grammar.responseFiles && token.startsWith('@'))
      return this.refuse(
        'response_file_not_allowed',
        `'${show(token)}' names a file with more arguments`,
        token,
      );
    this.flags.push({ flag: null, words: [token] });
    this.order?.push(token);
    return null;
  }

  unknown(name: string): Refusal {
    return this.refuse(
      'flag_not_allowed',
      `flag '${show(name)}' is not in the allowlist for ${this.command()}`,
      name,
      name,
    );
  }

  ambiguous(name: string, token: string): Refusal {
    return this.refuse(
      'flag_value_ambiguous',
      `'${show(token)}' could give flag '${name}' a value with or without the equals sign`,
      token,
      name,
    );
  }

  command(): string {
    return `'${[this.rule.tool, ...this.rule.path].join(' ')}'`;
  }
}

function writeValue(flag: Flag, value: string, grammar: Grammar): string[] | null {
  const { name } = flag;
  const detachable = !value.startsWith('-') || value === '-' || flag.dashValue;
  if (grammar.options === 'gnu' && name.length === 2) {
    if (flag.value !== 'required') return [name + value];
    return detachable ? [name, value] : [name + value];
  }
  // Read back, "-name=value" would be ambiguous.
  if (grammar.options === 'gnu' && !name.startsWith('--')) return detachable ? [name, value] : null;
  if (flag.value === 'required' && grammar.longValues === 'detached')
    return detachable ? [name, value] : null;
  return [`${name}=${value}`];
}

/** The one form in which the call is run: the first `globals` words of argv, and what was read. */
export function canonical(reader: Reader, argv: readonly string[], globals: number): readonly string[] {
  const { rule, grammar, flags, positionals } = reader;
  const written = argv.slice(0, globals);
  written.push(...rule.path);
  // What is not known to be a flag's value must stay where it is.
  if (reader.order !== null) {
    written.push(...reader.order);
    return written;
  }
  const { facts } = grammar;
  const early = (flag: Flag | null): boolean =>
    !facts.positionalsFirst || (flag !== null && facts.leadingFlags?.includes(flag.name) === true);
  for (const { flag, words } of flags) if (early(flag)) written.push(...words);
  for (const { text, afterEnd } of positionals) if (!afterEnd) written.push(text);
  if (facts.positionalsFirst) for (const { flag, words } of flags) if (!early(flag)) written.push(...words);
  if (!reader.ended) return written;
  written.push('--');
  for (const { text, afterEnd } of positionals) if (afterEnd) written.push(text);
  return written;
}

function keepsOrder(terms: Terms): boolean {
  return terms.anyFlags || !terms.interspersed;
}
