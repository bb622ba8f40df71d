/** A new rule at the end of a tool’s `allow` list, or with the list. */
import type { AllowRequest } from './allow-request.ts';
import { addToFlow, dropValue, fillFlow, fillNull, insertionOf } from './yaml-flow.ts';
import type { PolicyTool } from './policy-read.ts';
import {
  blockLines,
  flagStyle,
  flowMapping,
  flowStyle,
  ruleFields,
  ruleStyle,
  writeKey,
  type RuleStyle,
} from './policy-write.ts';
import { linesAfter } from './lines.ts';
import type { Change } from './types.ts';
import {
  dashes,
  endOf,
  isFlow,
  isNull,
  pairEnd,
  pairStart,
  startOf,
  type MapNode,
  type PairNode,
  type SeqNode,
} from './yaml-read.ts';
import {
  blankBetween,
  column,
  gapAfter,
  itemLines,
  itemOffset,
  pairSpans,
  quoteOf,
  spansOf,
} from './yaml-style.ts';

export function addRule(text: string, tool: PolicyTool, request: AllowRequest): Change[] {
  const { allow, node, rules } = tool;
  const last = rules.at(-1);
  if (last !== undefined && allow !== null)
    return afterLast(text, tool, request, allow.value as SeqNode, last.node);
  if (!isFlow(node)) return asBlockList(text, tool, request);
  const style = flowStyle(text, node);
  const rule = `[${flowMapping(fieldsOf(text, tool, request, ruleStyle(tool, true)), style)}]`;
  if (allow === null) {
    const written = `${writeKey('allow', quoteOf(node.items.at(-1)?.key))}${style.colon}${rule}`;
    return node.items.length === 0
      ? fillFlow(text, { start: startOf(node), end: endOf(node) }, written)
      : addToFlow(text, pairSpans(node), [written]);
  }
  if (isNull(allow.value)) return [fillNull(text, allow, rule)];
  return fillFlow(text, { start: startOf(allow.value), end: endOf(allow.value) }, rule.slice(1, -1));
}

function fieldsOf(text: string, tool: PolicyTool, request: AllowRequest, style: RuleStyle, at = 0) {
  return ruleFields(request, style, flagStyle(text, tool.rules, flagQuote(style)), at);
}

// A value is quoted for its key’s sake only: a config that is JSON stays JSON.
function flagQuote({ keys }: RuleStyle): RuleStyle['keys'] {
  return keys;
}

function afterLast(
  text: string,
  tool: PolicyTool,
  request: AllowRequest,
  list: SeqNode,
  last: MapNode,
): Change[] {
  const flow = isFlow(last) || isFlow(list);
  const style = ruleStyle(tool, flow);
  if (isFlow(list)) {
    const rule = flowMapping(fieldsOf(text, tool, request, style), flowStyle(text, last));
    return addToFlow(text, spansOf(list), [rule]);
  }
  const dash = dashes(list).at(-1) ?? startOf(list);
  const first = flow ? startOf(last) : pairStart(last.items[0] as PairNode);
  const gap = gapAfter(text, dash, first);
  const before = list.items.at(-2);
  const blank = before !== undefined && blankBetween(text, endOf(before), dash) ? [''] : [];
  const lines = ruleLines(text, tool, request, style, column(text, dash), gap, last);
  return [insertionOf(linesAfter(text, endOf(list), [...blank, ...lines]))];
}

/** A rule as an item of a block list whose dash is in column `dash`. */
function ruleLines(
  text: string,
  tool: PolicyTool,
  request: AllowRequest,
  style: RuleStyle,
  dash: number,
  gap: ReturnType<typeof gapAfter>,
  model: MapNode | null,
): string[] {
  const at = dash + itemOffset(gap);
  const fields = fieldsOf(text, tool, request, style, at);
  if (style.flow || fields.length === 0) {
    const spaces = model === null ? { inner: '', gap: ' ', colon: ': ' } : flowStyle(text, model);
    return itemLines(dash, gap, flowMapping(fields, spaces));
  }
  const [first, ...rest] = blockLines(fields, at);
  return [...itemLines(dash, gap, first as string), ...rest];
}

/** `allow` becomes a block list, indented by the step between the tool’s name and its keys. */
function asBlockList(text: string, tool: PolicyTool, request: AllowRequest): Change[] {
  const { allow, node, pair } = tool;
  const keyColumn = column(text, pairStart((allow ?? node.items[0]) as PairNode));
  const dash = 2 * keyColumn - column(text, pairStart(pair));
  const lines = ruleLines(text, tool, request, ruleStyle(tool, false), dash, { same: ' ' }, null);
  if (allow === null) {
    const key = ' '.repeat(keyColumn) + writeKey('allow', quoteOf(node.items.at(-1)?.key));
    return [insertionOf(linesAfter(text, endOf(node), [`${key}:`, ...lines]))];
  }
  const empty = allow.value;
  if (empty !== null && !isNull(empty) && text.slice(startOf(empty), endOf(empty)).includes('#')) {
    const flow = ruleStyle(tool, true);
    const rule = flowMapping(fieldsOf(text, tool, request, flow), { inner: '', gap: ' ', colon: ': ' });
    return fillFlow(text, { start: startOf(empty), end: endOf(empty) }, rule);
  }
  return [...dropValue(text, allow), insertionOf(linesAfter(text, pairEnd(allow), lines))];
}
