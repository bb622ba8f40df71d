/** Policy and call -> Decision. Pure; its cost depends on the call and on the rules of its subcommand only. */
import { judge, type Verdict } from './constraint.ts';
import { findDenial, type Denial } from './deny.ts';
import { canonical, progressOf, Reader, type Parsed, type Positional, type Refusal } from './grammar.ts';
import { nearestAllowed } from './nearest.ts';
import type { AllowRule, Policy, Slot, ToolPolicy, Word } from './rule.ts';
import { hasHidden, malformed, show } from './text.ts';
import type { Call, CwdVerdict, Decision, Denied, ReasonCode, RuleRef } from './types.ts';

/** The order of judgement is part of the interface: each stage answers before the next is asked. */
export function evaluate(policy: Policy, call: Call, cwd?: CwdVerdict): Decision {
  const decision = decide(policy, call, cwd);
  if (decision.decision === 'allow') return decision;
  const nearest = nearestAllowed(decision, policy, (argv) => decide(policy, { tool: call.tool, argv }));
  return nearest === null ? decision : { ...decision, nearestAllowed: nearest };
}

function decide(policy: Policy, call: Call, cwd?: CwdVerdict): Decision {
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
  const index = argv.findIndex((argument) => typeof argument !== 'string');
  // `findIndex` sees the holes of a sparse array too.
  return index < 0 ? null : `argument ${index + 1} is not a string`;
}

function emptyCall(call: Call): Call {
  return { tool: typeof call.tool === 'string' ? call.tool : '', argv: [] };
}

function decideTool(tool: ToolPolicy, call: Call): Decision {
  const { argv } = call;
  const bare = tool.root.allow.length > 0;
  let globals = 0;
  while (globals < argv.length && tool.globalFlags.has(argv[globals] ?? '')) globals++;
  const stray = argv[globals]?.startsWith('-') ? (argv[globals] ?? null) : null;
  if (stray !== null && !bare) {
    const name = stray.startsWith('--') ? stray.replace(/=.*$/s, '') : stray;
    return deny(
      call,
      'global_flag_not_allowed',
      `flag '${show(name)}' is not allowed before the subcommand of '${tool.name}'`,
      stray,
      { flag: name },
    );
  }
  const found = stray === null ? longest(tool.root, argv, globals) : null;
  const target = found ?? (bare ? tool.root : null);
  const from = found ? globals + (found.allow[0]?.path.length ?? 0) : 0;
  const rules = target?.allow ?? [];
  const start = found || !bare ? globals : 0;
  const tokens = start === 0 ? argv : argv.slice(start);
  const refusal = (words: readonly string[]): Denial | null =>
    tool.denyCount === 0 ? null : findDenial(tool.root, tool.grammar, words, rules, from - start);
  const denial = refusal(tokens);
  if (denial) return denyByRule(tool, call, denial, rules);
  if (!target) return unknownSubcommand(tool, call, globals);
  const decision = tryRules(tool, call, target, argv.slice(0, found ? globals : 0), argv.slice(from));
  if (decision.decision === 'deny') return decision;
  // What runs is the canonical form, so that is what must meet no deny rule, whatever was typed.
  const written = refusal(decision.argv.slice(start));
  return written ? denyByRule(tool, call, written, rules) : decision;
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
    allowedFlags: flagNames(rules),
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
function tryRules(
  tool: ToolPolicy,
  call: Call,
  target: Word,
  globals: readonly string[],
  tokens: readonly string[],
): Decision {
  let furthest: { refusal: Refusal; rule: AllowRule } | null = null;
  for (const rule of target.allow) {
    const reader = new Reader(rule, tool.grammar, tokens, tokens.length === call.argv.length);
    const parsed = reader.read();
    const refusal = parsed.ok ? refusePositionals(tool, target, rule, parsed) : parsed;
    if (refusal === null && parsed.ok)
      return {
        decision: 'allow',
        tool: tool.name,
        subcommand: rule.path,
        argv: canonical(tool.grammar, rule, globals, parsed),
        rule: rule.ref,
        readOnly: rule.readOnly,
        stdin: rule.stdin,
      };
    if (refusal && (!furthest || refusal.progress > furthest.refusal.progress)) furthest = { refusal, rule };
  }
  if (!furthest) return unknownSubcommand(tool, call, globals.length);
  const { refusal, rule } = furthest;
  return deny(call, refusal.reason, refusal.detail, refusal.offending, {
    rule: rule.ref,
    subcommand: rule.path,
    allowedFlags: flagNames([rule]),
    flag: refusal.flag,
  });
}

function flagNames(rules: readonly AllowRule[]): readonly string[] {
  const names = new Set(rules.flatMap((rule) => [...rule.flags.values()].map((flag) => flag.name)));
  return rules.some((rule) => rule.anyFlags) ? [...names, 'any'] : [...names];
}

function refusePositionals(tool: ToolPolicy, target: Word, rule: AllowRule, parsed: Parsed): Refusal | null {
  const own = rule.endOfOptions !== null && rule.endOfOptions !== true ? rule.endOfOptions : null;
  const listed = own ? parsed.positionals.filter((positional) => !positional.afterEnd) : parsed.positionals;
  const slots = assign(rule, listed.length);
  let place = 0;
  for (const [index, positional] of parsed.positionals.entries()) {
    const slot = own && positional.afterEnd ? { constraint: own, optional: true } : slots[place++];
    const refusal = refusePositional(tool, target, rule, positional, index, slot);
    if (refusal) return refusal;
  }
  const swallowed = takenForValue(tool, parsed);
  if (swallowed)
    return {
      ok: false,
      reason: 'flag_value_ambiguous',
      detail: `'${show(swallowed)}' after a flag would be read as the flag's value by '${tool.name}'`,
      offending: swallowed,
      flag: null,
      progress: progressOf.missing,
    };
  const required = rule.args.filter((arg) => !arg.optional).length;
  if (listed.length < required)
    return {
      ok: false,
      reason: 'arg_missing',
      detail: `${command(rule)} needs ${required} argument${required === 1 ? '' : 's'}, ${listed.length} given`,
      offending: null,
      flag: null,
      progress: progressOf.missing,
    };
  const absent = rule.required.find((flag) => !parsed.seen.has(flag));
  if (!absent) return null;
  return {
    ok: false,
    reason: 'flag_required',
    detail: `flag '${absent.name}' is required for ${command(rule)}`,
    offending: absent.name,
    flag: absent.name,
    progress: progressOf.required,
  };
}

/** A positional that would stand directly after a bare flag, where this CLI takes it for a value. */
function takenForValue(tool: ToolPolicy, parsed: Parsed): string | null {
  const { swallowed } = tool.grammar.facts;
  const first = parsed.positionals[0];
  const last = parsed.flags.at(-1)?.words;
  if (!swallowed || !first || first.afterEnd || last?.length !== 1 || last[0]?.includes('=')) return null;
  return swallowed.includes(first.text) ? first.text : null;
}

/** Which slot each of `count` positionals has: optional ones are filled from the left as far as there are enough. */
function assign(rule: AllowRule, count: number): readonly (Slot | undefined)[] {
  const required = rule.args.filter((arg) => !arg.optional).length;
  let spare = Math.max(0, count - required);
  const slots: (Slot | undefined)[] = [];
  for (const arg of rule.args) {
    if (arg.optional && spare === 0) continue;
    if (arg.optional) spare--;
    slots.push(arg);
  }
  while (slots.length < count) slots.push(rule.rest ? { constraint: rule.rest, optional: true } : undefined);
  return slots;
}

function refusePositional(
  tool: ToolPolicy,
  target: Word,
  rule: AllowRule,
  positional: Positional,
  index: number,
  slot: Slot | undefined,
): Refusal | null {
  const { text } = positional;
  const refuse = (reason: ReasonCode, detail: string): Refusal => ({
    ok: false,
    reason,
    detail,
    offending: text,
    flag: null,
    progress: progressOf.positional + index,
  });
  if (target.next.has(text))
    return refuse('arg_not_allowed', `'${show([...rule.path, text].join(' '))}' is a subcommand of its own`);
  if (hasHidden(text, slot?.constraint.multiline ?? false))
    return refuse('argument_malformed', `argument '${show(text)}' has hidden characters`);
  const { facts } = tool.grammar;
  const late = facts.lateOptions && index === 1 && text.startsWith('-') && !positional.afterEnd;
  if (late || facts.operators?.includes(text))
    return refuse('arg_not_allowed', `'${show(text)}' would be read as an option by '${tool.name}'`);
  if (!slot && rule.anyArgs && text !== '-') return null;
  if (!slot) return refuse('arg_not_allowed', `argument '${show(text)}' is more than ${command(rule)} takes`);
  const verdict: Verdict | null = judge(slot.constraint, text);
  if (!verdict) return null;
  return refuse(
    verdict.path ? 'path_not_allowed' : 'arg_not_allowed',
    `argument '${show(text)}' is not allowed for ${command(rule)}: ${show(verdict.why, 240)}`,
  );
}

function command(rule: AllowRule): string {
  return `'${[rule.tool, ...rule.path].join(' ')}'`;
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
    nearestAllowed: null,
    rule: extras.rule ?? null,
  };
}
