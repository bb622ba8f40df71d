/** What approving a request would change: the config's new text, and the policy that it makes. Nothing is written. */
import { parseConfig } from '../config/load.ts';
import type { Snapshot } from '../config/types.ts';
import type { AllowRequest } from '../edit/allow-request.ts';
import { addAllowRule } from '../edit/policy.ts';
import type { Edited, Refusal } from '../edit/types.ts';
import { errorCodes, WraptoolError, type ErrorCode } from '../errors.ts';
import type { Policy } from '../policy/compile.ts';
import { evaluate } from '../policy/evaluate.ts';
import type { Decision, ReasonCode } from '../policy/types.ts';
import { exactRule } from './exact.ts';
import { freshProblem } from './fresh-problem.ts';
import type { Capability } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** A config as it is now, and how to read what it would become. */
export type Ground = { readonly snapshot: Snapshot; readonly env: Env };

export type Change = {
  readonly ok: true;
  /** As it is written, or granted. */
  readonly rule: AllowRequest;
  readonly edited: Edited;
  readonly policy: Policy;
  /** On the request, with the change made. */
  readonly decision: Decision;
  /** Whether that is what was asked for; false only for a capability, whose rule is written as asked all the same. */
  readonly met: boolean;
};

/** Why approving would have no effect, or none that may be. `why` is one sentence without a full stop. */
export type NoChange = {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly why: string;
  readonly line?: number;
  readonly column?: number;
};

/** `wide` leaves values open that the refused call had. */
export function planChange(ground: Ground, asked: Capability, wide: boolean): Change | NoChange {
  let last: NoChange = { ok: false, code: 'request_unmet', why: 'the call is of another subcommand' };
  let asAsked: Change | null = null;
  for (const rule of rules(ground.snapshot.policy, asked, wide)) {
    const change = tryRule(ground, asked, rule);
    if (change.ok && change.met) return change;
    if (change.ok) asAsked ??= change;
    else {
      last = change;
      if (change.code !== 'request_unmet') break;
    }
  }
  return last.code === 'request_unmet' && asAsked !== null ? asAsked : last;
}

/** Candidates, the one that adds least first. */
function rules(policy: Policy, asked: Capability, wide: boolean): AllowRequest[] {
  const plain: AllowRequest = {
    tool: asked.tool,
    subcommand: asked.subcommand.length === 0 ? null : asked.subcommand.join(' '),
    flags: [...new Set(asked.flags)],
  };
  if (asked.argv === null) {
    const args = asked.args ?? [];
    return args.length === 0 ? [plain] : [plain, { ...plain, exact: { values: {}, args, open: 'flags' } }];
  }
  const exact = exactRule(policy, asked.tool, asked.subcommand, asked.argv);
  if (exact === null) return [];
  if (!wide) return [exact];
  return [
    { tool: exact.tool, subcommand: exact.subcommand, flags: exact.flags },
    { ...exact, exact: { values: {}, args: [], ...exact.exact, open: 'all' } },
  ];
}

function tryRule(ground: Ground, asked: Capability, rule: AllowRequest): Change | NoChange {
  const edited = withRule(ground, ground.snapshot.text, rule);
  if (!edited.ok) return edited;
  const policy = policyOf(ground, edited.text);
  const decision = evaluate(policy, callOf(asked));
  const met = isMet(asked, decision);
  if (met) return { ok: true, rule, edited, policy, decision, met };
  const { reason, detail } = decision as Extract<Decision, { decision: 'deny' }>;
  if (reason === 'denied_by_rule') return { ok: false, code: 'denied_by_rule', why: detail };
  if (asked.argv === null) return { ok: true, rule, edited, policy, decision, met };
  return {
    ok: false,
    code: 'request_unmet',
    why: `with the rule that would be written the call would still be denied (${reason}): ${detail}`,
  };
}

/** What a capability leaves to the call that will use it. */
const incomplete: ReadonlySet<ReasonCode> = new Set(['arg_missing', 'flag_required', 'flag_value_missing']);

/** Whether what was asked for is allowed. A capability without its arguments needs them still. */
export function isMet(asked: Capability, decision: Decision): boolean {
  if (decision.decision === 'allow') return true;
  return asked.argv === null && incomplete.has(decision.reason);
}

/** The refused call, or the shortest one that the capability is for. */
export function callOf(asked: Capability): { tool: string; argv: readonly string[] } {
  const { tool, subcommand, flags, args } = asked;
  return { tool, argv: asked.argv ?? [...subcommand, ...new Set(flags), ...(args ?? [])] };
}

/** The text with a rule in it, proved to load where the one before did. */
export function withRule({ snapshot, env }: Ground, text: string, rule: AllowRequest): Edited | Refusal {
  return addAllowRule(text, rule, { validate: (next) => freshProblem(text, next, snapshot.file, env) });
}

/** The policy of a text that was proved to load. */
export function policyOf({ snapshot, env }: Ground, text: string): Policy {
  return parseConfig(Buffer.from(text), { file: snapshot.file, real: snapshot.file, env }).policy;
}

/** A refusal as the error that the operator sees. */
export function noChangeError({ code, why, line, column }: NoChange, file: string): WraptoolError {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return new WraptoolError(code, `${place}: ${why}`, { hint: errorCodes[code].mend });
}
