/** Putting an item behind another one between brackets or braces: what JSON and YAML's flow style have in common. */
import { isBlank, lineEnd, lineEndAt } from './lines.ts';
import type { Change } from './types.ts';

/** Skips one comment that begins at an offset: where it ends, or null where none begins. */
export type CommentEnd = (offset: number) => number | null;

export type Neighbour = {
  readonly text: string;
  /** Where the item before ends. */
  readonly end: number;
  readonly commentEnd: CommentEnd;
};

export type Placing = {
  /** Between the comma and the item on one line. */
  readonly gap: string;
  /** Where the item begins a line of its own: what stands before it there (white space); else null. */
  readonly ownLine: string | null;
  /** Where commas lead: what stands between the beginning of the line and the item, comma included. */
  readonly leading?: string | undefined;
  /** The white space of a line that has to be begun although the items stand on one line. */
  readonly forced: string;
  /** Blank lines before each item that begins its line. */
  readonly blankLines?: number | undefined;
};

/**
 * The comma after an item, and the end of what stays with that item: the comma and the comments that follow on its
 * line, so that a comment stays with the item that it follows.
 */
function tail({ text, end, commentEnd }: Neighbour): {
  comma: number | null;
  stay: number;
  commented: boolean;
  lineDone: boolean;
} {
  let comma: number | null = null;
  let stay = end;
  let commented = false;
  for (let at = end; ;) {
    const after = commentEnd(at);
    if (after !== null) {
      commented = true;
      stay = at = after;
    } else if (text[at] === ' ' || text[at] === '\t') at += 1;
    else if (text[at] === ',' && comma === null) {
      comma = at;
      stay = at += 1;
    } else return { comma, stay, commented, lineDone: isBlank(text.slice(at, lineEndAt(text, at).content)) };
  }
}

/** The changes that put `item` behind the item that ends at `neighbour.end`. */
export function placeAfter(neighbour: Neighbour, placing: Placing, item: string): Change[] {
  const { text, end } = neighbour;
  const { comma, stay, commented, lineDone } = tail(neighbour);
  const line = lineEnd(text, stay);
  const { eol } = line;
  if (placing.leading !== undefined)
    return [insertion(lineDone ? line.content : stay, eol + placing.leading + item)];
  const breaks = placing.ownLine !== null || (commented && lineDone);
  const between = breaks
    ? eol.repeat(1 + (placing.blankLines ?? 0)) + (placing.ownLine ?? placing.forced)
    : placing.gap;
  const at = breaks && lineDone ? line.content : stay;
  if (comma !== null) return [insertion(at, `${between}${item},`)];
  return at === end
    ? [insertion(at, `,${between}${item}`)]
    : [insertion(end, ','), insertion(at, between + item)];
}

export function insertion(at: number, insert: string): Change {
  return { at, remove: '', insert };
}
