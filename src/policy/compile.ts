/** The `tools` section -> Policy. Pure: all problems are returned, nothing is thrown. */
import {
  anything,
  compileConstraint,
  constrains,
  readPattern,
  type Constraint,
  type Findings,
} from './constraint.ts';
import { denied } from './deny.ts';
import { checkExamples, exampleWords } from './examples.ts';
import { grammarFor } from './grammars/built-in.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { AllowRule, DenyRule, Flag, Policy, ToolPolicy, Word } from './rule.ts';
import type { ConfigPath, DenySpec, FlagSpec, Problem, RuleSpec, ToolSpec } from './spec.ts';
import { checkNames } from './structured.ts';

export type { Policy } from './rule.ts';

/** Gives the place of a config path: file and 1-based line. */
export type Locate = (path: ConfigPath) => { readonly file: string; readonly line: number };

export type Compiled = {
  readonly policy: Policy;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

export function compile(tools: Readonly<Record<string, ToolSpec>>, locate: Locate): Compiled {
  const findings: Findings = { problems: [], warnings: [], patterns: new Map() };
  const compiled = new Map<string, ToolPolicy>();
  for (const [name, spec] of Object.entries(tools)) {
    const tool = compileTool(name, spec, locate, findings);
    compiled.set(name, tool);
  }
  const policy: Policy = { tools: compiled };
  checkNames(policy, findings);
  // Examples mean nothing while a rule is broken.
  if (findings.problems.length === 0) checkExamples(tools, policy, findings);
  return { policy, problems: findings.problems, warnings: findings.warnings };
}

/** A word while rules are still added to it. */
type Draft = { readonly next: Map<string, Draft>; readonly allow: AllowRule[]; readonly deny: DenyRule[] };

function newDraft(): Draft {
  return { next: new Map(), allow: [], deny: [] };
}

/** The node of a path, made if it is not there. */
function wordAt(root: Draft, path: readonly string[]): Draft {
  let node = root;
  for (const word of path) {
    let next = node.next.get(word);
    if (!next) node.next.set(word, (next = newDraft()));
    node = next;
  }
  return node;
}

const noWords: ReadonlyMap<string, Word> = new Map();
const noFlags: ReadonlySet<string> = new Set();
const nothing: readonly never[] = [];

/** Small: what a decision reads should be in the processor's cache. */
function seal({ next, allow, deny }: Draft): Word {
  return {
    next: next.size === 0 ? noWords : new Map([...next].map(([word, below]) => [word, seal(below)])),
    allow: exact(allow),
    deny: exact(deny),
  };
}

/** Without the room to grow that a list has which was added to. */
function exact<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? nothing : list.slice();
}

function compileTool(name: string, spec: ToolSpec, locate: Locate, findings: Findings): ToolPolicy {
  const grammar = grammarFor(name, spec.binary, spec.grammar);
  const root = newDraft();
  for (const path of grammar.facts.subcommands ?? []) wordAt(root, path.split(' '));
  const at: ConfigPath = ['tools', name];
  (spec.allow ?? []).forEach((rule, index) => {
    const where = [...at, 'allow', index];
    const compiled = compileAllow(name, grammar, rule, where, locate, findings);
    const { allow } = wordAt(root, compiled.path);
    allow.push(agreeing(compiled, allow, where, findings));
  });
  (spec.deny ?? []).forEach((rule, index) => {
    const compiled = compileDeny(name, grammar, rule, [...at, 'deny', index], locate, findings);
    wordAt(root, compiled.path).deny.push(compiled);
  });
  const examples = [...(spec.allow ?? []), ...(spec.deny ?? [])]
    .flatMap((rule) => [...(rule.match ?? []), ...(rule.not_match ?? [])])
    .map(exampleWords);
  return {
    name,
    grammar,
    globalFlags: spec.global_flags?.length ? new Set(spec.global_flags) : noFlags,
    root: seal(root),
    allowCount: spec.allow?.length ?? 0,
    denyCount: spec.deny?.length ?? 0,
    examples,
  };
}

/**
 * Whether a flag takes the next word is a fact about the CLI, so rules of one subcommand cannot differ in it: one
 * would write what another reads otherwise. A rule that leaves it open follows one that says it.
 */
function agreeing(rule: AllowRule, others: AllowRule[], at: ConfigPath, findings: Findings): AllowRule {
  let agreed = rule;
  for (const [index, other] of others.entries())
    for (const [name, theirs] of other.flags) {
      const ours = rule.flags.get(name);
      if (!ours || (ours.value === 'required') === (theirs.value === 'required')) continue;
      if (ours.value === 'open') agreed = neverBare(agreed, ours);
      else if (theirs.value === 'open') others[index] = neverBare(others[index] ?? other, theirs);
      else
        findings.problems.push({
          path: [...at, 'flag_constraints', ours.name],
          message: `"${name}" is value: ${ours.value} here and value: ${theirs.value} in another rule of this subcommand`,
        });
    }
  return agreed;
}

function neverBare(rule: AllowRule, flag: Flag): AllowRule {
  const renewed = { ...flag, neverBare: true };
  const swap = (one: Flag): Flag => (one.name === flag.name ? renewed : one);
  return {
    ...rule,
    flags: new Map([...rule.flags].map(([name, one]) => [name, swap(one)])),
    required: rule.required.map(swap),
    aliased: rule.aliased.map(swap),
  };
}

function splitPath(subcommand: string | undefined): readonly string[] {
  return subcommand === undefined ? nothing : subcommand.split(' ');
}

function compileAllow(
  tool: string,
  grammar: Grammar,
  spec: RuleSpec,
  at: ConfigPath,
  locate: Locate,
  findings: Findings,
): AllowRule {
  const path = splitPath(spec.subcommand);
  const key = path.join(' ');
  const flags = compileFlags(grammar, key, spec, at, findings);
  const each = [...new Set(flags.values())];
  const args = compileArgs(spec, at, findings);
  const stops = grammar.facts.stopsAtPositional?.includes(key) ?? false;
  if (spec.end_of_options && grammar.facts.positionalsFirst && grammar.facts.operators)
    findings.problems.push({
      path: [...at, 'end_of_options'],
      message: `${tool} writes its positionals before its options: "--" cannot be kept in place`,
    });
  return {
    ref: { ...locate(at), effect: 'allow' },
    tool,
    path,
    anyFlags: spec.flags === 'any',
    flags,
    flagNames: exact(each.map((flag) => flag.name).concat(spec.flags === 'any' ? ['any'] : [])),
    required: exact(each.filter((flag) => flag.required)),
    aliased: exact(each.filter((flag) => flag.short !== null)),
    anyArgs: spec.args === 'any',
    args: exact(args),
    fewestArgs: args.filter((arg) => !arg.optional).length,
    rest: compileRest(spec, at, findings),
    endOfOptions: compileEnd(spec, at, findings),
    interspersed: spec.interspersed ?? !stops,
    readOnly: spec.read_only ?? false,
    stdin: spec.stdin ?? false,
  };
}

function compileArgs(spec: RuleSpec, at: ConfigPath, findings: Findings): AllowRule['args'] {
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

function compileEnd(spec: RuleSpec, at: ConfigPath, findings: Findings): AllowRule['endOfOptions'] {
  const end = spec.end_of_options;
  if (end === undefined || end === false) return null;
  return end === true ? true : compileConstraint(end, [...at, 'end_of_options'], findings);
}

function compileFlags(
  grammar: Grammar,
  path: string,
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
    const flag = compileFlag(grammar, path, name, constraint ?? null, where, findings);
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
  grammar: Grammar,
  path: string,
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
  const { special } = grammar.facts;
  const takes = [...(grammar.facts.valueFlags?.[''] ?? []), ...(grammar.facts.valueFlags?.[path] ?? [])];
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

function compileDeny(
  tool: string,
  grammar: Grammar,
  spec: DenySpec,
  at: ConfigPath,
  locate: Locate,
  findings: Findings,
): DenyRule {
  const { flags, letters } = denied(spec.flags ?? [], grammar);
  return {
    ref: { ...locate(at), effect: 'deny' },
    tool,
    path: splitPath(spec.subcommand),
    // An empty list is no list: a deny rule that names nothing denies everything.
    everything: flags.length === 0 && spec.args_pattern === undefined,
    flags,
    letters,
    argsPattern:
      spec.args_pattern === undefined
        ? null
        : readPattern(spec.args_pattern, true, [...at, 'args_pattern'], findings),
  };
}
