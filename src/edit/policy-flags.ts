/** New flags for a rule: into its list, or with the list. */
import { linesAfter } from './lines.ts';
import type { PolicyTool, Rule } from './policy-read.ts';
import { blockLines, flagsField, flagStyle, flowStyle } from './policy-write.ts';
import type { Change } from './types.ts';
import { addToFlow, dropValue, fillFlow, fillNull, insertionOf, placeInFlow } from './yaml-flow.ts';
import {
  dashes,
  endOf,
  isFlow,
  pairEnd,
  pairOf,
  pairStart,
  startOf,
  type PairNode,
  type SeqNode,
} from './yaml-read.ts';
import {
  blankBetween,
  column,
  flowList,
  gapAfter,
  itemLines,
  nearestQuotes,
  pairSpans,
  quoteOf,
  spansOf,
  writeString,
  type ListStyle,
  type Quote,
} from './yaml-style.ts';

/** Flags for a list that is there. */
export function addFlags(text: string, tool: PolicyTool, list: SeqNode, flags: readonly string[]): Change[] {
  const last = list.items.at(-1);
  if (last === undefined) {
    const keys = quoteOf(list.items[0] ?? tool.allow?.key);
    return fillList(text, list, flags, flagStyle(text, tool.rules, keys));
  }
  const strings = { quote: quoteOf(last), fallback: nearestQuotes(list.items) };
  const written = flags.map((flag) => writeString(flag, strings, isFlow(list)));
  if (isFlow(list)) return addToFlow(text, spansOf(list), written);
  const dash = dashes(list).at(-1) ?? startOf(list);
  const gap = gapAfter(text, dash, startOf(last));
  const before = list.items.at(-2);
  const blank = before !== undefined && blankBetween(text, endOf(before), dash) ? [''] : [];
  const lines = written.flatMap((item) => [...blank, ...itemLines(column(text, dash), gap, item)]);
  return [insertionOf(linesAfter(text, endOf(list), lines))];
}

function fillList(text: string, list: SeqNode, flags: readonly string[], style: ListStyle): Change[] {
  const separator = style.kind === 'flow' ? style.separator : ', ';
  const content = flags.map((flag) => writeString(flag, style, true)).join(separator);
  return fillFlow(text, { start: startOf(list), end: endOf(list) }, content);
}

/** The list for a rule that has none, or a `flags` key without a value. */
export function addFlagsKey(
  text: string,
  tool: PolicyTool,
  rule: Rule,
  empty: PairNode | null,
  flags: readonly string[],
): Change[] {
  const subcommand = pairOf(rule.node, 'subcommand');
  const model = subcommand ?? (rule.node.items.at(-1) as PairNode | undefined);
  const keys: Quote = quoteOf((model ?? tool.pair).key);
  const flow = isFlow(rule.node);
  const style = flagStyle(text, tool.rules, keys);
  const list =
    flow && style.kind === 'block' ? { ...style, kind: 'flow' as const, inner: '', separator: ', ' } : style;
  if (empty !== null) return fillValue(text, empty, flags, list);
  if (model === undefined) {
    const field = flagsField(flags, list, keys, 0);
    return fillFlow(
      text,
      { start: startOf(rule.node), end: endOf(rule.node) },
      `${field.key}: ${field.inline}`,
    );
  }
  if (flow) {
    const { colon } = flowStyle(text, rule.node);
    const field = flagsField(flags, list, keys, 0);
    const index = (rule.node.items as PairNode[]).indexOf(model);
    return placeInFlow(text, pairSpans(rule.node), index, [`${field.key}${colon}${field.inline}`]);
  }
  const at = column(text, pairStart(model));
  const [first, ...rest] = blockLines([flagsField(flags, list, keys, at)], at);
  return [insertionOf(linesAfter(text, pairEnd(model), [' '.repeat(at) + (first as string), ...rest]))];
}

function fillValue(text: string, pair: PairNode, flags: readonly string[], list: ListStyle): Change[] {
  if (list.kind === 'flow') return [fillNull(text, pair, flowList(flags, list))];
  const at = column(text, pairStart(pair));
  const { lines } = flagsField(flags, list, quoteOf(pair.key), at);
  return [...dropValue(text, pair), insertionOf(linesAfter(text, pairEnd(pair), lines ?? []))];
}
