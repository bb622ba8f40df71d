/** Deny rules. They over-approximate: what some version of a CLI could read as a denied flag is denied. */
import { Reader } from './grammar.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { AllowRule, DenyRule, Word } from './rule.ts';

export type Denial = { readonly rule: DenyRule; readonly offending: string | null };

/**
 * The first deny rule that refuses `globals` followed by `tokens`, or null. Many a CLI takes a subcommand's flag before the
 * subcommand too. Subcommand words are found whatever flags stand between them.
 */
export function findDenial(
  root: Word,
  grammar: Grammar,
  globals: readonly string[],
  tokens: readonly string[],
  readers: readonly AllowRule[],
  readFrom: number,
): Denial | null {
  let node: Word | undefined = root;
  const used = new Set<number>();
  const words = tokens.flatMap((token, index) => (token.startsWith('-') ? [] : [index]));
  const stops = readers.some((reader) => !reader.terms.interspersed);
  let values: ReadonlySet<number> | null = null;
  for (let depth = 0; node; depth++) {
    for (const written of node.deny) {
      const rule = withAliases(written, grammar, readers);
      if (rule.argsPattern && values === null) values = detachedValues(grammar, tokens, readers, readFrom);
      const found =
        globalDenied(rule, grammar, globals) ?? matchDeny(rule, grammar, tokens, used, values, stops);
      if (found) return found;
    }
    const index: number | undefined = words[depth];
    if (index === undefined) return null;
    used.add(index);
    node = node.next.get(tokens[index] ?? '');
  }
  return null;
}

/** A flag has two names for the rule that allows it: who denies one denies both. */
function withAliases(rule: DenyRule, grammar: Grammar, readers: readonly AllowRule[]): DenyRule {
  if (rule.flags.length === 0) return rule;
  const names = readers.flatMap((reader) =>
    reader.terms.aliased.flatMap(({ name, short }) =>
      short !== null && (deniedFlag(rule, grammar, name) || deniedFlag(rule, grammar, short))
        ? [name, short]
        : [],
    ),
  );
  return names.length === 0 ? rule : { ...rule, ...denied([...rule.flags, ...names], grammar) };
}

/** What a deny rule's list of flags comes to: names with `_` as `-`, and the letters that no cluster may have. */
export function denied(names: readonly string[], grammar: Grammar): Pick<DenyRule, 'flags' | 'letters'> {
  const flags = names.map((name) => name.replaceAll('_', '-'));
  const short = grammar.options === 'gnu' ? flags.filter((name) => !name.startsWith('--')) : [];
  return {
    flags,
    letters: new Set(short.map((name) => name.slice(1)).filter((rest) => Array.from(rest).length === 1)),
  };
}

function globalDenied(rule: DenyRule, grammar: Grammar, globals: readonly string[]): Denial | null {
  const offending = globals.find((token) => deniedFlag(rule, grammar, token));
  return offending === undefined ? null : { rule, offending };
}

function matchDeny(
  rule: DenyRule,
  grammar: Grammar,
  tokens: readonly string[],
  path: ReadonlySet<number>,
  values: ReadonlySet<number> | null,
  stops: boolean,
): Denial | null {
  if (rule.everything) return { rule, offending: null };
  let ended = false;
  let words = 0;
  for (const [index, token] of tokens.entries()) {
    if (path.has(index)) continue;
    const dashed = token.startsWith('-') && token.length > 1;
    if (dashed && token !== '--' && deniedFlag(rule, grammar, token)) return { rule, offending: token };
    if (token === '--' && !ended) {
      ended = true;
      continue;
    }
    // A word with a dash may be a positional after "--", or where the first positional ends the options.
    const positional = !dashed || ended || (stops && words > 0);
    if (!dashed) words++;
    if (!positional || values?.has(index)) continue;
    if (rule.argsPattern && rule.argsPattern.matches(token) !== false) return { rule, offending: token };
  }
  return null;
}

/** Tokens that every allow rule reads as a flag's detached value: no positional in any reading. */
function detachedValues(
  grammar: Grammar,
  tokens: readonly string[],
  rules: readonly AllowRule[],
  from: number,
): ReadonlySet<number> {
  let common: ReadonlySet<number> | null = null;
  for (const rule of rules) {
    const reader = new Reader(rule, grammar, tokens, from, false);
    const read = reader.read() === null ? tokens.length : reader.at;
    const positional = new Set(reader.positionals.map(({ index }) => index));
    const values = new Set<number>();
    for (let index = from; index < read; index++)
      if (!tokens[index]?.startsWith('-') && !positional.has(index)) values.add(index);
    common = common === null ? values : both(common, values);
  }
  return common ?? new Set();
}

function both(a: ReadonlySet<number>, b: ReadonlySet<number>): ReadonlySet<number> {
  return new Set([...a].filter((item) => b.has(item)));
}

function deniedFlag(rule: DenyRule, grammar: Grammar, token: string): boolean {
  const equals = token.indexOf('=');
  const name = (equals < 0 ? token : token.slice(0, equals)).replaceAll('_', '-');
  const single = grammar.options === 'single-dash' || grammar.facts.looseDashes === true;
  for (const denied of rule.flags) {
    if (name === denied) return true;
    if (denied.startsWith('--') && name.startsWith('--') && name.length > 2 && denied.startsWith(name))
      return true;
    if (!single) continue;
    const [bare, bareDenied] = [name.replace(/^-+/, ''), denied.replace(/^-+/, '')];
    if (bare !== '' && bareDenied.startsWith(bare)) return true;
  }
  if (grammar.options === 'single-dash' || token.startsWith('--') || rule.letters.size === 0) return false;
  return Array.from(token.slice(1)).some((letter) => rule.letters.has(letter));
}
