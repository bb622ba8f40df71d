/** Lists in two columns: where the second one begins. */
import type { Line } from './text.ts';

const minLines = 3;

/** The column at which several lines hold a second flag behind a gap, or null. */
export function columnsOf(lines: readonly Line[]): number | null {
  const seen = new Map<number, number>();
  for (const { indent, text } of lines) {
    if (!text.startsWith('-')) continue;
    for (const found of text.matchAll(/[^ ,|] {2,}(?=-[^ ]{1,3} +[A-Za-z])/g)) {
      const column = indent + found.index + found[0].length;
      seen.set(column, (seen.get(column) ?? 0) + 1);
    }
  }
  for (const [column, count] of seen) if (count >= minLines) return column;
  return null;
}
