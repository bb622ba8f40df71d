/** How strings, lists and mappings of a YAML file are written, and new ones written the same way. */
import { isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { isBlank, lineStart } from './lines.ts';
import {
  colonOf,
  dashes,
  endOf,
  isFlow,
  pairEnd,
  pairStart,
  startOf,
  type MapNode,
  type PairNode,
  type SeqNode,
} from './yaml-read.ts';

export type Quote = 'plain' | 'single' | 'double';

export function quoteOf(node: Node | null | undefined): Quote {
  if (!isScalar(node)) return 'plain';
  if (node.type === 'QUOTE_SINGLE') return 'single';
  return node.type === 'QUOTE_DOUBLE' ? 'double' : 'plain';
}

/** The quotes of the last of `nodes` that has any, else double. */
export function nearestQuotes(nodes: readonly (Node | null | undefined)[]): 'single' | 'double' {
  const quotes = nodes.map(quoteOf).filter((quote) => quote !== 'plain');
  return quotes.at(-1) ?? 'double';
}

export type StringStyle = { readonly quote: Quote; readonly fallback: 'single' | 'double' };

/** `fallback` is for a string that can't be plain, in its context or because some reader would take it for another type. */
export function writeString(text: string, { quote, fallback }: StringStyle, flow: boolean): string {
  const chosen = quote === 'plain' && !isPlain(text, flow) ? fallback : quote;
  if (chosen === 'plain') return text;
  return chosen === 'single' ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text);
}

/** Characters that some reader takes for a line break, or that hide, are escaped. */
export function doubleQuoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7F-\x9F\u2028\u2029\uFEFF]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether YAML 1.1 and 1.2 both read the bare text as that string. */
export function isPlain(text: string, flow: boolean): boolean {
  if (text === '' || text.trim() !== text || /[^\x20-\x7E\xA0-\u{10FFFF}]/u.test(text)) return false;
  // "=" and "<<" have a meaning of their own in YAML 1.1, which not every reader asks the place for.
  if (text === '=' || text === '<<') return false;
  return (['1.1', '1.2'] as const).every((version) => {
    const { contents, errors } = parseDocument(flow ? `[${text}]` : `- ${text}\n`, {
      version,
      logLevel: 'silent',
    });
    const [item, second] = isSeq(contents) ? contents.items : [];
    return errors.length === 0 && second === undefined && isScalar(item) && item.value === text;
  });
}

/** A list’s layout; a block’s `indent` is the dash’s distance from the key’s column, `gap` what follows the dash. */
export type ListStyle = StringStyle &
  (
    | { readonly kind: 'flow'; readonly inner: string; readonly separator: string }
    | { readonly kind: 'block'; readonly indent: number; readonly gap: Gap }
  );

/** Between dash and item: white space on the line, or a new line on which the item stands so far right of the dash. */
export type Gap = { readonly same: string } | { readonly below: number };

export function gapAfter(text: string, dash: number, item: number): Gap {
  const same = /^[ \t]+(?=[^\s#])/.exec(text.slice(dash + 1))?.[0];
  return same === undefined ? { below: column(text, item) - column(text, dash) } : { same };
}

/** The lines of a block item whose first line is `first`, its dash at `at`. */
export function itemLines(at: number, gap: Gap, first: string): string[] {
  const dash = `${' '.repeat(at)}-`;
  return 'same' in gap ? [dash + gap.same + first] : [dash, ' '.repeat(at + gap.below) + first];
}

/** How far right of the dash an item with that gap stands. */
export function itemOffset(gap: Gap): number {
  return 'same' in gap ? 1 + gap.same.length : gap.below;
}

export function listStyle(text: string, list: SeqNode, key: number): ListStyle {
  const strings = {
    quote: quoteOf(list.items.at(-1)),
    fallback: nearestQuotes(list.items),
  };
  if (isFlow(list))
    return {
      ...strings,
      kind: 'flow',
      inner: innerSpace(text, startOf(list)),
      separator: `,${commaGap(text, spansOf(list))}`,
    };
  const dash = dashes(list).at(-1) ?? startOf(list);
  return {
    ...strings,
    kind: 'block',
    indent: column(text, dash) - column(text, key),
    gap: gapAfter(text, dash, startOf(list.items.at(-1))),
  };
}

/** Blanks after an opening bracket or brace where something follows on its line. */
export function innerSpace(text: string, open: number): string {
  return /^[ \t]+(?=[^\s#])/.exec(text.slice(open + 1))?.[0] ?? '';
}

export type Span = { readonly start: number; readonly end: number };

export function spansOf(list: SeqNode): Span[] {
  return list.items.map((item) => ({ start: startOf(item), end: endOf(item) }));
}

export function pairSpans(map: MapNode): Span[] {
  return (map.items as PairNode[]).map((pair) => ({ start: pairStart(pair), end: pairEnd(pair) }));
}

/** Blanks after the comma between the last two items that share a line, else one. */
export function commaGap(text: string, spans: readonly Span[]): string {
  const [before, last] = [spans.at(-2), spans.at(-1)];
  if (before === undefined || last === undefined) return ' ';
  return /^[ \t]*,([ \t]*)$/.exec(text.slice(before.end, last.start))?.[1] ?? ' ';
}

/** ": " as the pair has it, where its value stands on the key’s line. */
export function colonGap(text: string, pair: PairNode | undefined): string {
  const colon = pair === undefined ? null : colonOf(pair);
  if (pair === undefined || colon === null) return ': ';
  const after = /^:[ \t]*(?=[^\s#])/.exec(text.slice(colon))?.[0];
  return after === undefined || (after === ':' && quoteOf(pair.key) === 'plain') ? ': ' : after;
}

/** A flow list on one line. */
export function flowList(
  items: readonly string[],
  style: StringStyle & { inner: string; separator: string },
): string {
  const written = items.map((item) => writeString(item, style, true));
  return `[${style.inner}${written.join(style.separator)}${style.inner}]`;
}

export function column(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** Whether a blank line stands between two items of a block list. */
export function blankBetween(text: string, end: number, start: number): boolean {
  const lines = text.slice(end, start).split('\n').slice(1, -1);
  return lines.some(isBlank);
}
