/** Takes statements out of a TOML file: an entry’s sub-tables, or the whole entry when the file is no longer what was written. */
import { removeItem } from './flow-remove.ts';
import { endBefore, isBlank, lineEnd, lineEndAt, lineStart } from './lines.ts';
import { withoutValue, type Plan } from './plan.ts';
import { entryParts, inlineHolder, startsWith, valueAt } from './toml-find.ts';
import { inlinePairs, readTomlValue, statements, tomlComment, type Statement } from './toml-read.ts';
import type { Change } from './types.ts';

/** Takes what is at `path` out; null where nothing is there. A container that only our header names goes with it. */
export function removeToml(text: string, path: readonly string[]): Plan | null {
  const data = readTomlValue(text);
  const found = statements(text);
  if (valueAt(data, path) === undefined) return null;
  const inline = inlineHolder(text, found, path);
  const changes =
    inline === null ? removeParts(text, found, entryParts(found, path)) : removeInline(text, inline, path);
  const gone =
    path.map((_, index) => path.slice(0, index + 1)).find((own) => isOnlyIn(found, own, path)) ?? path;
  return { changes, expected: withoutValue(data, gone), own: changes.map(({ remove }) => remove) };
}

function isOnlyIn(
  found: readonly Statement[],
  container: readonly string[],
  path: readonly string[],
): boolean {
  return found
    .filter(({ path: own }) => startsWith(own, container) || startsWith(container, own))
    .every(({ path: own }) => startsWith(own, path));
}

/** Whole statements go, a table with the lines up to its last pair and with a blank line before it. */
export function removeParts(
  text: string,
  found: readonly Statement[],
  parts: readonly Statement[],
): Change[] {
  const ranges: [number, number][] = [];
  for (const part of parts) {
    const open = ranges.at(-1);
    const { next } = lineEnd(text, part.value.end);
    const follows = parts.includes(found[found.indexOf(part) - 1] as Statement);
    if (open !== undefined && part.kind === 'pair' && follows) open[1] = next;
    else ranges.push([lineStart(text, part.start), next]);
  }
  return ranges.map(([begin, end]) => {
    const [from, to] = withBlankLine(text, begin, end);
    return { at: from, remove: text.slice(from, to), insert: '' };
  });
}

function withBlankLine(text: string, start: number, end: number): [number, number] {
  let begin = start;
  if (/^[ \t]*\[/.test(text.slice(begin, end))) {
    const before = lineStart(text, begin - 1);
    const after = lineEndAt(text, end);
    if (begin > 0 && isBlank(text.slice(before, begin))) begin = before;
    else if (begin === 0 && after.broken && isBlank(text.slice(end, after.next))) return [0, after.next];
  }
  // A file that ends without a line break still does.
  return end === text.length && !text.endsWith('\n') ? [endBefore(text, begin), end] : [begin, end];
}

function removeInline(text: string, holder: Statement, path: readonly string[]): Change[] {
  const rest = path.slice(holder.path.length);
  const pairs = inlinePairs(text, holder.value.start);
  const index = pairs.findIndex(({ path: own }) => startsWith(own, rest.slice(0, own.length)));
  const pair = pairs[index] as Statement;
  if (pair.path.length < rest.length)
    return removeInline(text, { ...pair, path: [...holder.path, ...pair.path] }, path);
  return removeItem({
    text,
    commentEnd: (offset) => tomlComment(text, offset),
    within: holder.value,
    items: pairs.map(({ start, value }) => ({ start, end: value.end })),
    index,
  });
}
