/** The `tools` section -> Policy. Pure: all problems are returned, nothing is thrown. */
import { readPattern, type Findings } from './constraint.ts';
import { denied } from './deny.ts';
import { checkExamples, exampleWords } from './examples.ts';
import { grammarFor } from './grammars/built-in.ts';
import type { Grammar } from './grammars/grammar.ts';
import type { AllowRule, DenyRule, Flag, Policy, ToolPolicy, Word } from './rule.ts';
import type { ConfigPath, DenySpec, Problem, RuleSpec, ToolSpec } from './spec.ts';
import { checkNames } from './structured.ts';
import { SharedTerms } from './terms.ts';

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
  const context: Context = { locate, findings, shared: new SharedTerms() };
  const compiled = new Map<string, ToolPolicy>();
  for (const [name, spec] of Object.entries(tools)) compiled.set(name, compileTool(name, spec, context));
  const policy: Policy = { tools: compiled };
  checkNames(policy, findings);
  // Examples mean nothing while a rule is broken.
  if (findings.problems.length === 0) checkExamples(tools, policy, findings);
  return { policy, problems: findings.problems, warnings: findings.warnings };
}

type Context = { readonly locate: Locate; readonly findings: Findings; readonly shared: SharedTerms };

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

function compileTool(name: string, spec: ToolSpec, context: Context): ToolPolicy {
  const grammar = grammarFor(name, spec.binary, spec.grammar);
  const root = newDraft();
  for (const path of grammar.facts.subcommands ?? []) wordAt(root, path.split(' '));
  const at: ConfigPath = ['tools', name];
  (spec.allow ?? []).forEach((rule, index) => {
    const where = [...at, 'allow', index];
    const compiled = compileAllow(name, grammar, rule, where, context);
    const { allow } = wordAt(root, compiled.path);
    allow.push(agreeing(compiled, allow, where, context.findings));
  });
  (spec.deny ?? []).forEach((rule, index) => {
    const compiled = compileDeny(name, grammar, rule, [...at, 'deny', index], context);
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
    for (const [name, theirs] of other.terms.flags) {
      const ours = rule.terms.flags.get(name);
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
  const { flags, required, aliased } = rule.terms;
  const terms = {
    ...rule.terms,
    flags: new Map([...flags].map(([name, one]) => [name, swap(one)])),
    required: required.map(swap),
    aliased: aliased.map(swap),
  };
  return { ...rule, terms };
}

function compileAllow(
  tool: string,
  grammar: Grammar,
  spec: RuleSpec,
  at: ConfigPath,
  { locate, findings, shared }: Context,
): AllowRule {
  const path = shared.path(spec.subcommand);
  if (spec.end_of_options && grammar.facts.positionalsFirst && grammar.facts.operators)
    findings.problems.push({
      path: [...at, 'end_of_options'],
      message: `${tool} writes its positionals before its options: "--" cannot be kept in place`,
    });
  return {
    ref: { ...locate(at), effect: 'allow' },
    tool,
    path,
    terms: shared.terms(grammar, path.join(' '), spec, at, findings),
  };
}

function compileDeny(
  tool: string,
  grammar: Grammar,
  spec: DenySpec,
  at: ConfigPath,
  { locate, findings, shared }: Context,
): DenyRule {
  const { flags, letters } = denied(spec.flags ?? [], grammar);
  return {
    ref: { ...locate(at), effect: 'deny' },
    tool,
    path: shared.path(spec.subcommand),
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
