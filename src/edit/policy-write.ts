/** Rules and lists of flags, written as their neighbours are. */
import { isSeq } from 'yaml';
import { exactKeys, type AllowRequest } from './allow-request.ts';
import type { PolicyTool, Rule } from './policy-read.ts';
import { isFlow, pairOf, startOf, type MapNode, type PairNode, type SeqNode } from './yaml-read.ts';
import {
  colonGap,
  commaGap,
  flowList,
  innerSpace,
  itemLines,
  listStyle,
  nearestQuotes,
  pairSpans,
  quoteOf,
  writeString,
  type ListStyle,
  type Quote,
  type StringStyle,
} from './yaml-style.ts';

/** How new flags are written where a rule has no list yet: as in the last rule that has flags, else flow. */
export function flagStyle(text: string, rules: readonly Rule[], keys: Quote): ListStyle {
  const models = rules.filter(({ flags }) => flags !== 'any' && flags.length > 0);
  const model = models.at(-1);
  const pair = model === undefined ? null : pairOf(model.node, 'flags');
  if (pair !== null && isSeq(pair.value)) return listStyle(text, pair.value as SeqNode, startOf(pair.key));
  return {
    kind: 'flow',
    inner: '',
    separator: ', ',
    quote: keys,
    fallback: keys === 'single' ? 'single' : 'double',
  };
}

/** A key, and its value: on the key’s line, or lines indented from the key’s column. */
export type Field = { readonly key: string; readonly inline?: string; readonly lines?: readonly string[] };

export function writeKey(name: string, keys: Quote): string {
  return writeString(name, { quote: keys, fallback: 'double' }, true);
}

export function flagsField(flags: readonly string[], style: ListStyle, keys: Quote, at: number): Field {
  const key = writeKey('flags', keys);
  if (style.kind === 'flow') return { key, inline: flowList(flags, style) };
  const dash = Math.max(at + style.indent, 0);
  return { key, lines: flags.flatMap((flag) => itemLines(dash, style.gap, writeString(flag, style, false))) };
}

/** The lines of a block mapping at that column; the first without its indentation. */
export function blockLines(fields: readonly Field[], at: number): string[] {
  return fields.flatMap(({ key, inline, lines }, index) => {
    const indent = index === 0 ? '' : ' '.repeat(at);
    return [`${indent}${key}:${inline === undefined ? '' : ` ${inline}`}`, ...(lines ?? [])];
  });
}

export type FlowStyle = { readonly inner: string; readonly gap: string; readonly colon: string };

export function flowStyle(text: string, map: MapNode): FlowStyle {
  const spans = pairSpans(map);
  return {
    inner: isFlow(map) ? innerSpace(text, startOf(map)) : '',
    gap: commaGap(text, spans.slice(0, 2)),
    colon: colonGap(text, map.items[0] as PairNode | undefined),
  };
}

export function flowMapping(fields: readonly Field[], { inner, gap, colon }: FlowStyle): string {
  const pairs = fields.map(({ key, inline }) => `${key}${colon}${inline ?? ''}`);
  return pairs.length === 0 ? '{}' : `{${inner}${pairs.join(`,${gap}`)}${inner}}`;
}

export type RuleStyle = { readonly keys: Quote; readonly values: StringStyle; readonly flow: boolean };

/** Quotes of a new rule: those of the last rule’s subcommand, else those that the tool’s own keys have. */
export function ruleStyle({ rules, node, allow }: PolicyTool, flow: boolean): RuleStyle {
  const last = rules.at(-1);
  const pair = last === undefined ? null : pairOf(last.node, 'subcommand');
  const model = pair?.key ?? last?.node.items[0]?.key ?? allow?.key ?? node.items.at(-1)?.key;
  const keys = quoteOf(model);
  const quote = pair === null ? keys : quoteOf(pair.value);
  const fallback = nearestQuotes(rules.map((rule) => pairOf(rule.node, 'subcommand')?.value));
  return { keys, values: { quote, fallback }, flow };
}

/** The fields of a new rule, in the order in which they are written. */
export function ruleFields(request: AllowRequest, style: RuleStyle, flags: ListStyle, at: number): Field[] {
  const { keys, values, flow } = style;
  const asked = [...new Set(request.flags)];
  const oneLine =
    flow && flags.kind === 'block' ? { ...flags, kind: 'flow' as const, inner: '', separator: ', ' } : flags;
  const subcommand =
    request.subcommand === null
      ? []
      : [{ key: writeKey('subcommand', keys), inline: writeString(request.subcommand, values, flow) }];
  return [
    ...subcommand,
    ...(asked.length === 0 ? [] : [flagsField(asked, oneLine, keys, at)]),
    ...exactFields(request, { quote: oneLine.quote, fallback: oneLine.fallback }, keys),
  ];
}

/** What keeps a rule as narrow as the call that it was asked for by. */
function exactFields(request: AllowRequest, strings: StringStyle, keys: Quote): Field[] {
  const word = (name: string): string => writeKey(name, keys);
  const write = (value: unknown): string => {
    if (typeof value === 'string') return writeString(value, strings, true);
    if (Array.isArray(value)) return `[${value.map(write).join(', ')}]`;
    if (typeof value !== 'object' || value === null) return String(value);
    const pairs = Object.entries(value).map(([name, inner]) =>
      // Words of the config itself are written as its keys are, whatever the call says as its own strings are.
      name.startsWith('-')
        ? `${write(name)}: ${write(inner)}`
        : `${word(name)}: ${typeof inner === 'string' ? word(inner) : write(inner)}`,
    );
    return `{ ${pairs.join(', ')} }`;
  };
  return Object.entries(exactKeys(request)).map(([name, value]) => ({
    key: word(name),
    inline: value === 'any' ? word('any') : write(value),
  }));
}
