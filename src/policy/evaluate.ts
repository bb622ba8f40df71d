/** Policy and call -> Decision. Pure; its cost depends on the call and on the rules of its subcommand only. */
import { findDenial, type Denial } from './deny.ts';
import { canonical, Reader, type Refusal } from './grammar.ts';
import { refusePositionals } from './positionals.ts';
import type { AllowRule, Policy, ToolPolicy, Word } from './rule.ts';
import { malformed, show } from './text.ts';
import type { Call, CwdVerdict, Decision, Denied, ReasonCode, RuleRef } from './types.ts';

/** The order of judgement is part of the interface: each stage answers before the next is asked. */
export function evaluate(policy: Policy, call: Call, cwd?: CwdVerdict): Decision {
  const bad = badRequest(call);
  if (bad !== null) return deny(emptyCall(call), 'request_malformed', bad, null);
  const tool = policy.tools.get(call.tool);
  if (!tool)
    return deny(call, 'tool_not_allowed', `tool '${show(call.tool)}' is not in the allowlist`, call.tool);
  if (tool.allowCount === 0)
    return deny(
      call,
      'no_allow_rules',
      `tool '${tool.name}' has no allow rules, so nothing of it is callable`,
      null,
    );
  if (cwd && !cwd.ok) return deny(call, cwd.code, cwd.detail, null);
  const form = malformed(call.argv);
  if (form) return deny(call, 'argument_malformed', form.detail, form.offending);
  return decideTool(tool, call);
}

/** What is not a call at all, whatever its type says: it comes from the wire. */
function badRequest(call: Call): string | null {
  const { tool, argv }: { tool: unknown; argv: unknown } = call;
  if (typeof tool !== 'string') return 'the tool must be a string';
  if (!Array.isArray(argv)) return 'the arguments must be a list of strings';
  for (let index = 0; index < argv.length; index++)
    if (typeof argv[index] !== 'string') return `argument ${index + 1} is not a string`;
  return null;
}

function emptyCall(call: Call): Call {
  return { tool: typeof call.tool === 'string' ? call.tool : '', argv: [] };
}

function decideTool(tool: ToolPolicy, call: Call): Decision {
  const { argv } = call;
  const bare = tool.root.allow.length > 0;
  let globals = 0;
  while (globals < argv.length && tool.globalFlags.has(argv[globals] ?? '')) globals++;
  const stray = argv[globals]?.startsWith('-') === true;
  if (stray && !bare) return strayGlobal(tool, call, argv[globals] ?? '');
  const found = stray ? null : longest(tool.root, argv, globals);
  const target = found ?? (bare ? tool.root : null);
  const from = found ? globals + (found.allow[0]?.path.length ?? 0) : 0;
  const rules = target?.allow ?? [];
  const start = found || !bare ? globals : 0;
  const denial = refuse(tool, argv, start, from, rules);
  if (denial) return denyByRule(tool, call, denial, rules);
  if (!target) return unknownSubcommand(tool, call, globals);
  const decision = tryRules(tool, call, target, found ? globals : 0, from);
  if (decision.decision === 'deny') return decision;
  // What runs is the canonical form, so that is what must meet no deny rule, whatever was typed.
  const written = refuse(tool, decision.argv, start, from, rules);
  return written ? denyByRule(tool, call, written, rules) : decision;
}

/** The first deny rule that refuses argv, of which global flags end at `start`; what the allow rules read begins at `from`. */
function refuse(
  tool: ToolPolicy,
  argv: readonly string[],
  start: number,
  from: number,
  rules: readonly AllowRule[],
): Denial | null {
  if (tool.denyCount === 0) return null;
  return findDenial(tool.root, tool.grammar, argv.slice(0, start), argv.slice(start), rules, from - start);
}

function strayGlobal(tool: ToolPolicy, call: Call, flag: string): Denied {
  const name = flag.startsWith('--') ? flag.replace(/=.*$/s, '') : flag;
  return deny(
    call,
    'global_flag_not_allowed',
    `flag '${show(name)}' is not allowed before the subcommand of '${tool.name}'`,
    flag,
    { flag: name },
  );
}

function denyByRule(
  tool: ToolPolicy,
  call: Call,
  { rule, offending }: Denial,
  rules: readonly AllowRule[],
): Denied {
  const path = [tool.name, ...rule.path].join(' ');
  const what = offending === null ? 'it' : `'${show(offending)}'`;
  return deny(call, 'denied_by_rule', `a deny rule for '${path}' refuses ${what}`, offending, {
    rule: rule.ref,
    subcommand: rules[0]?.path ?? rule.path,
    allowedFlags: [...new Set(rules.flatMap(({ terms }) => terms.flagNames))],
    flag: offending?.startsWith('-') ? offending.replace(/=.*$/s, '') : null,
  });
}

/** The deepest word with allow rules on the way that argv takes, at least one word deep. */
function longest(root: Word, argv: readonly string[], from: number): Word | null {
  let node: Word | undefined = root;
  let found: Word | null = null;
  for (let index = from; node; index++) {
    node = node.next.get(argv[index] ?? '');
    if (index >= argv.length) break;
    if (node && node.allow.length > 0) found = node;
  }
  return found;
}

function unknownSubcommand(tool: ToolPolicy, call: Call, globals: number): Denied {
  const words: string[] = [];
  let node: Word | undefined = tool.root;
  for (let index = globals; node && index < call.argv.length; index++) {
    const word = call.argv[index] ?? '';
    // Known words, and the first unknown one.
    if (word.startsWith('-') || (words.length > 0 && node.next.size === 0)) break;
    words.push(word);
    node = node.next.get(word);
  }
  const last = words.at(-1);
  const detail =
    last === undefined
      ? `'${tool.name}' needs a subcommand`
      : `subcommand '${show(words.join(' '))}' of '${tool.name}' is not in the allowlist`;
  return deny(call, 'subcommand_not_allowed', detail, last ?? null, { subcommand: words });
}

/** One rule must be satisfied whole; the denial is that of the rule that got furthest. */
function tryRules(tool: ToolPolicy, call: Call, target: Word, globals: number, from: number): Decision {
  let furthest: { refusal: Refusal; rule: AllowRule } | null = null;
  for (const rule of target.allow) {
    const reader = new Reader(rule, tool.grammar, call.argv, from, from === 0);
    const refusal = reader.read() ?? refusePositionals(target, reader);
    if (refusal === null)
      return {
        decision: 'allow',
        tool: tool.name,
        subcommand: rule.path,
        argv: canonical(reader, call.argv, globals),
        rule: rule.ref,
        readOnly: rule.terms.readOnly,
        stdin: rule.terms.stdin,
      };
    if (!furthest || refusal.progress > furthest.refusal.progress) furthest = { refusal, rule };
  }
  if (!furthest) return unknownSubcommand(tool, call, globals);
  const { refusal, rule } = furthest;
  return deny(call, refusal.reason, refusal.detail, refusal.offending, {
    rule: rule.ref,
    subcommand: rule.path,
    allowedFlags: rule.terms.flagNames,
    flag: refusal.flag,
  });
}

type Extras = {
  readonly rule?: RuleRef;
  readonly subcommand?: readonly string[];
  readonly allowedFlags?: readonly string[];
  readonly flag?: string | null;
};

function deny(
  call: Call,
  reason: ReasonCode,
  detail: string,
  offending: string | null,
  extras: Extras = {},
): Denied {
  return {
    decision: 'deny',
    reason,
    detail,
    tool: call.tool,
    subcommand: extras.subcommand ?? [],
    argv: call.argv,
    offending,
    flag: extras.flag ?? null,
    allowedFlags: extras.allowedFlags ?? [],
    rule: extras.rule ?? null,
  };
}
