/** The rules' own examples, run when the policy is compiled. */
import type { Findings } from './constraint.ts';
import { evaluate } from './evaluate.ts';
import type { AllowRule, DenyRule, Policy, ToolPolicy, Word } from './rule.ts';
import type { ConfigPath, DenySpec, Example, RuleSpec, ToolSpec } from './spec.ts';
import { showCommand } from './text.ts';
import type { Decision } from './types.ts';

export function checkExamples(
  tools: Readonly<Record<string, ToolSpec>>,
  policy: Policy,
  findings: Findings,
): void {
  for (const [name, spec] of Object.entries(tools)) {
    const tool = policy.tools.get(name);
    if (!tool) continue;
    eachRule(spec.allow ?? [], (rule, index) => {
      const at: ConfigPath = ['tools', name, 'allow', index];
      const compiled = nth(tool.root, rule.subcommand, 'allow', spec.allow ?? [], index);
      if (compiled) check(rule, at, alone(tool, compiled as AllowRule), 'allow', findings);
    });
    eachRule(spec.deny ?? [], (rule, index) => {
      const at: ConfigPath = ['tools', name, 'deny', index];
      const compiled = nth(tool.root, rule.subcommand, 'deny', spec.deny ?? [], index);
      if (compiled) check(rule, at, denyAlone(tool, compiled as DenyRule), 'deny', findings);
    });
  }
}

function eachRule<T extends RuleSpec | DenySpec>(
  rules: readonly T[],
  visit: (rule: T, index: number) => void,
): void {
  rules.forEach((rule, index) => {
    if (rule.match || rule.not_match) visit(rule, index);
  });
}

/** The compiled form of the rule at `index`: rules of one path are kept in file order. */
function nth(
  root: Word,
  subcommand: string | undefined,
  side: 'allow' | 'deny',
  specs: readonly (RuleSpec | DenySpec)[],
  index: number,
): AllowRule | DenyRule | undefined {
  const before = specs.slice(0, index).filter((spec) => spec.subcommand === subcommand).length;
  let node: Word | undefined = root;
  for (const word of subcommand?.split(' ') ?? []) node = node?.next.get(word);
  return node?.[side][before];
}

function check(
  rule: RuleSpec | DenySpec,
  at: ConfigPath,
  decide: (argv: readonly string[]) => { matches: boolean; decision: Decision },
  effect: 'allow' | 'deny',
  findings: Findings,
): void {
  for (const [key, wanted] of [
    ['match', true],
    ['not_match', false],
  ] as const)
    (rule[key] ?? []).forEach((example, index) => {
      const argv = exampleWords(example);
      const { matches, decision } = decide(argv);
      if (matches === wanted) return;
      const why = decision.decision === 'deny' ? `: ${decision.detail}` : '';
      const verb = wanted ? `does not ${effect}` : `${effect === 'allow' ? 'allows' : 'denies'}`;
      findings.problems.push({
        path: [...at, key, index],
        message: `the rule ${verb} its example "${showCommand(argv)}"${wanted && effect === 'allow' ? why : ''}`,
      });
    });
}

/** Strings are split at single spaces: two in a row make an empty word. */
export function exampleWords(example: Example): readonly string[] {
  return typeof example === 'string' ? example.split(' ') : example;
}

/** A policy of this one allow rule, all deny rules and all words that are known as subcommands. */
function alone(
  tool: ToolPolicy,
  rule: AllowRule,
): (argv: readonly string[]) => { matches: boolean; decision: Decision } {
  const policy = filtered(
    tool,
    (candidate) => candidate === rule,
    () => true,
  );
  return (argv) => {
    const decision = evaluate(policy, { tool: tool.name, argv });
    return { matches: decision.decision === 'allow', decision };
  };
}

function denyAlone(
  tool: ToolPolicy,
  rule: DenyRule,
): (argv: readonly string[]) => { matches: boolean; decision: Decision } {
  const policy = filtered(
    tool,
    () => true,
    (candidate) => candidate === rule,
  );
  // Something has to be allowed, or every call would end before the deny rules.
  return (argv) => {
    const decision = evaluate(policy, { tool: tool.name, argv });
    return { matches: decision.decision === 'deny' && decision.reason === 'denied_by_rule', decision };
  };
}

function filtered(
  tool: ToolPolicy,
  allow: (rule: AllowRule) => boolean,
  deny: (rule: DenyRule) => boolean,
): Policy {
  const copy = (word: Word): Word => ({
    next: new Map([...word.next].map(([name, next]) => [name, copy(next)])),
    allow: word.allow.filter(allow),
    deny: word.deny.filter(deny),
  });
  return { tools: new Map([[tool.name, { ...tool, root: copy(tool.root), allowCount: 1 }]]) };
}
