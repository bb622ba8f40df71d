/** Additions to flow collections of a YAML file, and values for pairs that have none. */
import { insertion, placeAfter } from './flow.ts';
import { beginsLine, indentOf, isBlank, lineEnd, lineEndAt } from './lines.ts';
import type { Change } from './types.ts';
import { colonOf, endOf, isEmpty, keyEnd, startOf, yamlComment, type PairNode } from './yaml-read.ts';
import { column, commaGap, type Span } from './yaml-style.ts';

/** Items behind the last one in brackets or braces, parted as the last two are. */
export function addToFlow(text: string, spans: readonly Span[], items: readonly string[]): Change[] {
  return placeInFlow(text, spans, spans.length - 1, items);
}

/** Items behind the one at `index`, parted as that one is from its neighbour. */
export function placeInFlow(
  text: string,
  spans: readonly Span[],
  index: number,
  items: readonly string[],
): Change[] {
  const here = spans[index] as Span;
  const pairs =
    index + 1 < spans.length ? spans.slice(index, index + 2) : spans.slice(Math.max(index - 1, 0), index + 1);
  const [before, after] = pairs.length === 2 ? pairs : [undefined, here];
  const between = before === undefined ? '' : text.slice(before.end, after?.start).replace(/#[^\n]*/g, '');
  const start = (after ?? here).start;
  const leading = /\n([ \t]*,[ \t]*)$/.exec(between)?.[1];
  const own = before === undefined || between.includes('\n') ? beginsLine(text, start) : false;
  const placing = {
    gap: commaGap(text, pairs),
    ownLine: own ? indentOf(text, start) : null,
    leading,
    forced: forcedIndent(text, spans),
    blankLines: own && before !== undefined ? blankLines(text.slice(before.end, start)) : 0,
  };
  // Several items are one insertion: each after the first is parted from the one before in the same way.
  const { eol } = lineEnd(text, here.end);
  const part =
    leading !== undefined
      ? eol + leading
      : placing.ownLine !== null
        ? `,${eol.repeat(1 + placing.blankLines)}${placing.ownLine}`
        : `,${placing.gap}`;
  return placeAfter({ text, end: here.end, commentEnd: yamlComment(text) }, placing, items.join(part));
}

function blankLines(between: string): number {
  return between.split('\n').slice(1, -1).filter(isBlank).length;
}

/** The column of the first item, or of one that begins a line. */
function forcedIndent(text: string, spans: readonly Span[]): string {
  const item = spans.find(({ start }) => beginsLine(text, start)) ?? (spans[0] as Span);
  return ' '.repeat(column(text, item.start));
}

/** `[]` filled in place, its inner white space on both sides. */
export function fillFlow(text: string, list: { start: number; end: number }, content: string): Change[] {
  const inner = text.slice(list.start + 1, list.end - 1);
  if (isBlank(inner)) return [insertion(list.end - 1, content + inner)];
  const comment = list.start + 1 + inner.lastIndexOf('#');
  const line = lineEndAt(text, comment);
  return [insertion(line.content, `${line.eol}${indentOf(text, list.end - 1)}  ${content}`)];
}

/** `content` as the value of a pair that has none or null. */
export function fillNull(text: string, pair: PairNode, content: string): Change {
  const colon = colonOf(pair);
  if (!isEmpty(pair.value)) {
    const [start, end] = [startOf(pair.value), endOf(pair.value)];
    return { at: start, remove: text.slice(start, end), insert: content };
  }
  if (colon === null) return insertion(endOf(pair.key), `: ${content}`);
  const blanks = /^:([ \t]+),/.exec(text.slice(colon))?.[1];
  return blanks === undefined
    ? insertion(colon + 1, ` ${content}`)
    : insertion(colon + 1 + blanks.length, content);
}

/** Takes an empty value away, with the white space before it; a comment stays. */
export function dropValue(text: string, pair: PairNode): Change[] {
  if (isEmpty(pair.value)) return [];
  const colon = keyEnd(pair);
  const [start, end] = [startOf(pair.value), endOf(pair.value)];
  const between = text.slice(colon, start);
  const from = colon + between.trimEnd().length;
  return [{ at: from, remove: text.slice(from, end), insert: '' }];
}

export function insertionOf({ at, insert }: { at: number; insert: string }): Change {
  return insertion(at, insert);
}
