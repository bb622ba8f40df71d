/** What allow rules say of the words after their subcommand, compiled; what is said twice is kept once. */
import { anything, compileConstraint, constrains, type Constraint, type Findings } from './constraint.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { Flag, Terms } from './rule.ts';
import type { ConfigPath, FlagSpec, RuleSpec } from './spec.ts';

const nothing: readonly never[] = [];

/** What rules of one policy have in common, while it is compiled. */
export class SharedTerms {
  readonly #paths = new Map<string, readonly string[]>();
  readonly #terms = new Map<Grammar, Map<string, Terms>>();

  /** The words of a subcommand. */
  path(subcommand: string | undefined): readonly string[] {
    if (subcommand === undefined) return nothing;
    let words = this.#paths.get(subcommand);
    if (words === undefined) this.#paths.set(subcommand, (words = subcommand.split(' ')));
    return words;
  }

  terms(grammar: Grammar, path: string, spec: RuleSpec, at: ConfigPath, findings: Findings): Terms {
    let known = this.#terms.get(grammar);
    if (known === undefined) this.#terms.set(grammar, (known = new Map()));
    const { subcommand: _, match: __, not_match: ___, ...said } = spec;
    const about = factsOf(grammar, path);
    const key = JSON.stringify([about, said]);
    const found = known.get(key);
    if (found !== undefined) return found;
    const before = findings.problems.length + findings.warnings.length;
    const terms = compileTerms(grammar, about, spec, at, findings);
    // What is wrong is told at each place where it is written.
    if (findings.problems.length + findings.warnings.length === before) known.set(key, terms);
    return terms;
  }
}

/** What the grammar says of one subcommand. */
type About = {
  /** Flags that are known to take the next word. */
  readonly takes: readonly string[];
  /** Whether the first positional ends the flags. */
  readonly stops: boolean;
};

function factsOf({ facts }: Grammar, path: string): About {
  return {
    takes: [...(facts.valueFlags?.[''] ?? []), ...(facts.valueFlags?.[path] ?? [])],
    stops: facts.stopsAtPositional?.includes(path) ?? false,
  };
}

function compileTerms(
  grammar: Grammar,
  about: About,
  spec: RuleSpec,
  at: ConfigPath,
  findings: Findings,
): Terms {
  const flags = compileFlags(grammar, about, spec, at, findings);
  const each = [...new Set(flags.values())];
  const args = compileArgs(spec, at, findings);
  return {
    anyFlags: spec.flags === 'any',
    flags,
    flagNames: each.map((flag) => flag.name).concat(spec.flags === 'any' ? ['any'] : []),
    required: each.filter((flag) => flag.required),
    aliased: each.filter((flag) => flag.short !== null),
    anyArgs: spec.args === 'any',
    args,
    fewestArgs: args.filter((arg) => !arg.optional).length,
    rest: compileRest(spec, at, findings),
    endOfOptions: compileEnd(spec, at, findings),
    interspersed: spec.interspersed ?? !about.stops,
    readOnly: spec.read_only ?? false,
    stdin: spec.stdin ?? false,
  };
}

function compileArgs(spec: RuleSpec, at: ConfigPath, findings: Findings): Terms['args'] {
  if (spec.args === undefined || spec.args === 'any') return [];
  return spec.args.map((arg, index) => ({
    constraint: compileConstraint(arg, [...at, 'args', index], findings),
    optional: arg.optional ?? false,
  }));
}

function compileRest(spec: RuleSpec, at: ConfigPath, findings: Findings): Constraint | null {
  if (spec.rest === undefined) return null;
  return spec.rest === 'any' ? anything : compileConstraint(spec.rest, [...at, 'rest'], findings);
}

function compileEnd(spec: RuleSpec, at: ConfigPath, findings: Findings): Terms['endOfOptions'] {
  const end = spec.end_of_options;
  if (end === undefined || end === false) return null;
  return end === true ? true : compileConstraint(end, [...at, 'end_of_options'], findings);
}

function compileFlags(
  grammar: Grammar,
  about: About,
  spec: RuleSpec,
  at: ConfigPath,
  findings: Findings,
): ReadonlyMap<string, Flag> {
  const { problems } = findings;
  const constraints = spec.flag_constraints ?? {};
  const listed = spec.flags === 'any' ? Object.keys(constraints) : (spec.flags ?? []);
  const byName = new Map<string, Flag>();
  for (const [index, name] of listed.entries()) {
    const constraint = Object.hasOwn(constraints, name) ? constraints[name] : undefined;
    const where = constraint ? [...at, 'flag_constraints', name] : [...at, 'flags', index];
    const flag = compileFlag(grammar, about, name, constraint ?? null, where, findings);
    for (const each of flag.short === null ? [name] : [name, flag.short]) {
      if (byName.has(each))
        problems.push({ path: where, message: `flag "${each}" is named twice in this rule` });
      byName.set(each, flag);
    }
  }
  for (const name of Object.keys(constraints))
    if (!listed.includes(name))
      problems.push({
        path: [...at, 'flag_constraints', name],
        message: `"${name}" has a constraint but is not listed under flags`,
      });
  return byName;
}

function compileFlag(
  { facts: { special } }: Grammar,
  { takes }: About,
  name: string,
  spec: FlagSpec | null,
  at: ConfigPath,
  findings: Findings,
): Flag {
  const says = spec !== null && constrains(spec);
  const value = spec?.value ?? (says ? 'required' : 'open');
  if (value === 'none' && says)
    findings.problems.push({ path: at, message: `"${name}" takes no value, so nothing can constrain it` });
  if (spec?.dash_value && value !== 'required')
    findings.problems.push({ path: [...at, 'dash_value'], message: 'dash_value goes with value: required' });
  const known = takes.includes(name) || (spec?.short !== undefined && takes.includes(spec.short));
  if (known && (value === 'none' || value === 'optional'))
    findings.warnings.push({
      path: at,
      message: `"${name}" is known to take the next word as its value: expected value: required`,
    });
  return {
    name,
    short: spec?.short ?? null,
    value,
    neverBare: known && value === 'open',
    constraint: spec === null ? anything : compileConstraint(spec, at, findings),
    required: spec?.required ?? false,
    repeat: spec?.repeat ?? false,
    dashValue: spec?.dash_value ?? false,
    special: says && spec.enum === undefined ? (special?.[name] ?? special?.[spec.short ?? ''] ?? '') : '',
  };
}
