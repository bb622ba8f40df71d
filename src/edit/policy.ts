/** Writes a capability into wraptool’s own config: new flags for a rule, or a new rule. */
import { isDeepStrictEqual } from 'node:util';
import { isSeq } from 'yaml';
import { checkDenied, checkRequest, exactKeys, type AllowRequest } from './allow-request.ts';
import { addFlags, addFlagsKey } from './policy-flags.ts';
import { readTool, type PolicyTool, type Rule } from './policy-read.ts';
import { addRule } from './policy-rule.ts';
import { EditRefused, refusing } from './refuse.ts';
import { byteOrderMark, splice, unchanged } from './splice.ts';
import type { Change, Outcome } from './types.ts';
import { pairOf, readYamlValue, valueOf, type SeqNode } from './yaml-read.ts';

export type AddOptions = {
  /** The product’s own validator: what keeps the new text from loading, one sentence, or null. */
  readonly validate?: (text: string) => string | null;
};

/**
 * The config’s text with what `request` asks for allowed, written as the rules around it are: nothing but the addition
 * changes. A request that is allowed already gives the text back as it is.
 */
export function addAllowRule(text: string, request: AllowRequest, { validate }: AddOptions = {}): Outcome {
  const body = text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
  return refusing(body, () => {
    checkRequest(request);
    const tool = readTool(body, request.tool);
    checkDenied(tool, request);
    const plan = planOf(body, tool, request);
    if (plan === null) return unchanged(text, ['it is allowed already']);
    const edited = splice(text, plan.changes, {
      read: readYamlValue,
      expected: expectedData(tool, request, plan),
      notes: notesFor(request),
    });
    const trouble = validate?.(edited.text) ?? null;
    if (trouble !== null) throw new EditRefused('result_invalid', trouble);
    return edited;
  });
}

type AllowPlan = {
  readonly changes: readonly Change[];
  /** The rule that gains flags, or null for a new one. */
  readonly rule: Rule | null;
  readonly flags: readonly string[];
};

function planOf(text: string, tool: PolicyTool, request: AllowRequest): AllowPlan | null {
  const same = tool.rules.filter(({ subcommand }) => subcommand === request.subcommand);
  const asked = [...new Set(request.flags)];
  if (request.exact !== undefined) {
    if (same.some((rule) => isDeepStrictEqual(ruleData(tool, rule), newRule(request)))) return null;
    return { changes: addRule(text, tool, request), rule: null, flags: asked };
  }
  const [first] = same;
  if (first === undefined) return { changes: addRule(text, tool, request), rule: null, flags: asked };
  if (same.some(({ flags }) => flags === 'any' || asked.every((flag) => flags.includes(flag)))) return null;
  const flags = asked.filter((flag) => !first.flags.includes(flag));
  const pair = pairOf(first.node, 'flags');
  const filled = pair !== null && isSeq(pair.value);
  return {
    changes: filled
      ? addFlags(text, tool, pair.value as SeqNode, flags)
      : addFlagsKey(text, tool, first, pair, flags),
    rule: first,
    flags,
  };
}

function newRule(request: AllowRequest): Record<string, unknown> {
  const asked = [...new Set(request.flags)];
  return {
    ...(request.subcommand === null ? {} : { subcommand: request.subcommand }),
    ...(asked.length === 0 ? {} : { flags: asked }),
    ...exactKeys(request),
  };
}

type Data = { [key: string]: unknown };
type ToolData = { allow?: Data[] | null };

function toolData({ document, pair }: PolicyTool): { data: unknown; tool: ToolData } {
  const data = valueOf(document) as { tools: { [name: string]: ToolData } };
  return { data, tool: data.tools[String((pair.key as { value?: unknown }).value)] as ToolData };
}

function ruleData(tool: PolicyTool, rule: Rule): unknown {
  return toolData(tool).tool.allow?.[tool.rules.indexOf(rule)];
}

function expectedData(tool: PolicyTool, request: AllowRequest, { rule, flags }: AllowPlan): unknown {
  const { data, tool: section } = toolData(tool);
  if (rule === null) section.allow = [...(section.allow ?? []), newRule(request)];
  else {
    const target = section.allow?.[tool.rules.indexOf(rule)] as Data;
    target['flags'] = [...((target['flags'] as string[] | null | undefined) ?? []), ...flags];
  }
  return data;
}

function notesFor({ flags, exact }: AllowRequest): string[] {
  if (exact !== undefined && !exact.open) return wider(exact);
  if (flags.length === 0) return [];
  return [
    `${flags.join(', ')}: allowed with any value and without one, tighten them by hand with flag_constraints`,
  ];
}

/** What no rule can say as narrowly as the call did. */
function wider({ optional = [], repeat = [], end = false }: NonNullable<AllowRequest['exact']>): string[] {
  return [
    ...(optional.length === 0 ? [] : [`${optional.join(', ')}: allowed without its value, too`]),
    ...(repeat.length === 0 ? [] : [`${repeat.join(', ')}: allowed once or often, with any of its values`]),
    ...(end ? ['"--": allowed with it and without'] : []),
  ];
}
