/** Taking an item out from between brackets or braces, so that the comments around it stay. */
import type { CommentEnd } from './flow.ts';
import { beginsLine, endBefore, isBlank, lineEnd, lineStart } from './lines.ts';
import type { Change } from './types.ts';

export type Span = { readonly start: number; readonly end: number };

export type Removal = {
  readonly text: string;
  readonly commentEnd: CommentEnd;
  /** The collection, brackets included. */
  readonly within: Span;
  readonly items: readonly Span[];
  readonly index: number;
};

export function removeItem(removal: Removal): Change[] {
  const { text, commentEnd, within, items, index } = removal;
  const item = items[index] as Span;
  const before = items[index - 1];
  const after = items[index + 1];
  const prior = between(text, commentEnd, before?.end ?? within.start + 1, item.start);
  const behind = between(text, commentEnd, item.end, after?.start ?? within.end - 1);
  if (before === undefined && after === undefined && !prior.commented && !behind.commented)
    return [cut(text, within.start + 1, within.end - 1)];
  // With leading commas the one before goes with the line; else our own does, and where there is none the one before.
  const line = lineStart(text, item.start);
  const leads = prior.comma !== null && prior.comma >= line && isBlank(text.slice(line, prior.comma));
  const comma = leads ? prior.comma : (behind.comma ?? prior.comma);
  const joined = comma !== null && comma >= item.end && isBlank(text.slice(item.end, comma));
  const end = joined ? comma + 1 : item.end;
  const [from, to] =
    leads || beginsLine(text, item.start)
      ? lines(removal, item, end, after)
      : inline(text, item, end, after, joined ? null : comma, prior.end);
  const apart = comma !== null && (comma < from || comma >= to);
  return apart ? [cut(text, comma, comma + 1), cut(text, from, to)] : [cut(text, from, to)];
}

/** What stands between two items: its comma, whether it has comments, where the last of them or the comma ends. */
function between(text: string, commentEnd: CommentEnd, from: number, to: number) {
  let comma: number | null = null;
  let commented = false;
  let end = from;
  for (let at = from; at < to;) {
    const comment = commentEnd(at);
    if (comment !== null) {
      commented = true;
      at = end = comment;
    } else {
      if (text[at] === ',') {
        comma = at;
        end = at + 1;
      }
      at += 1;
    }
  }
  return { comma, commented, end };
}

/** The item begins a line: the line goes, unless something else is on it. */
function lines(
  { text, commentEnd, within }: Removal,
  item: Span,
  end: number,
  after: Span | undefined,
): [number, number] {
  const line = lineEnd(text, end);
  const begin = lineStart(text, item.start);
  if (isBlank(text.slice(end, line.content)) && line.broken) return [begin, line.next];
  if (after !== undefined && after.start < line.content) return [item.start, after.start];
  const blanks = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  if (commentEnd(end + blanks) !== null) return [item.start, end + blanks];
  return [Math.max(within.start + 1, endBefore(text, begin)), end];
}

/** The item shares its line with others: `prior` is where the comma or comment before it ends, `comma` one that goes too. */
function inline(
  text: string,
  item: Span,
  end: number,
  after: Span | undefined,
  comma: number | null,
  prior: number,
): [number, number] {
  if (after !== undefined && isBlank(text.slice(end, after.start))) return [item.start, after.start];
  const from = isBlank(text.slice(prior, item.start)) ? prior : item.start;
  return [comma !== null && comma + 1 === from ? comma : from, end];
}

function cut(text: string, from: number, to: number): Change {
  return { at: from, remove: text.slice(from, to), insert: '' };
}
