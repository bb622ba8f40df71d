/** Takes an entry out of another program’s YAML file again, when the file is no longer what was written. */
import { isMap } from 'yaml';
import { insertion } from './flow.ts';
import { removeItem } from './flow-remove.ts';
import { beginsLine, endBefore, indentOf, isBlank, lineEnd, lineEndAt, lineStart } from './lines.ts';
import { quoted, withoutValue, withValue, type Plan } from './plan.ts';
import { EditRefused } from './refuse.ts';
import type { Change } from './types.ts';
import { checkLoss, checkShared } from './yaml.ts';
import {
  endOf,
  isFlow,
  keyEnd,
  pairEnd,
  pairOf,
  pairStart,
  readYaml,
  startOf,
  valueOf,
  yamlComment,
  type MapNode,
  type PairNode,
} from './yaml-read.ts';
import { pairSpans } from './yaml-style.ts';

/** As removeEntry says; null where there is nothing to remove. */
export function removeYaml(text: string, path: readonly string[], made: number): Plan | null {
  const document = readYaml(text);
  const pairs: PairNode[] = [];
  let node: unknown = document?.contents ?? null;
  for (const [index, key] of path.entries()) {
    if (!isMap(node)) return null;
    const pair = pairOf(node as MapNode, key);
    if (pair === null || document === null) return null;
    if (index < path.length - 1) checkShared(document, pair, quoted(path.slice(0, index + 1)));
    pairs.push(pair);
    node = pair.value;
  }
  if (document === null) return null;
  let depth = path.length - 1;
  while (depth > path.length - 1 - made && depth > 0 && holdsOnly(text, pairs[depth - 1] as PairNode))
    depth -= 1;
  const holder = depth === 0 ? null : (pairs[depth - 1] as PairNode);
  const map = (holder?.value ?? document.contents) as MapNode;
  const pair = pairs[depth] as PairNode;
  checkLoss(document, pair, quoted(path));
  const changes = isFlow(map) ? removeFromFlow(text, map, pair) : removeLines(text, map, holder, pair);
  const gone = path.slice(0, depth + 1);
  const rest = withoutValue(valueOf(document), gone);
  const expected =
    map.items.length === 1 && holder !== null ? withValue(rest, path.slice(0, depth), {}) : rest;
  return { changes, expected, own: changes.map(({ remove }) => remove) };
}

/** Whether a container holds one pair and, outside that, no comment. */
function holdsOnly(text: string, holder: PairNode): boolean {
  const map = holder.value as MapNode;
  const [pair, second] = map.items as PairNode[];
  if (pair === undefined || second !== undefined) return false;
  const before = text.slice(keyEnd(holder), pairStart(pair));
  const after = isFlow(map) ? text.slice(pairEnd(pair), endOf(map)) : commentsBelow(text, holder, pair);
  return !/(^|\s)#/.test(before) && !after.includes('#');
}

/** Comment lines behind the last pair that are indented deeper than the container’s key. */
function commentsBelow(text: string, holder: PairNode, pair: PairNode): string {
  const deep = indentOf(text, pairStart(holder)).length;
  let found = '';
  for (let line = lineEnd(text, pairEnd(pair)); line.next < text.length;) {
    const start = line.next;
    line = lineEndAt(text, start);
    const content = text.slice(start, line.content);
    if (/^\s*#/.test(content) && indentOf(text, start).length > deep) found += content;
    else if (!isBlank(content)) break;
  }
  return found;
}

function removeLines(text: string, map: MapNode, holder: PairNode | null, pair: PairNode): Change[] {
  const start = pairStart(pair);
  if (!beginsLine(text, start))
    throw new EditRefused('result_invalid', 'the entry shares its line with something else', start);
  const { next, broken } = lineEnd(text, pairEnd(pair));
  const begin = lineStart(text, start);
  // A file that ends without a line break still does.
  const from = broken ? begin : endBefore(text, begin);
  const gone = { at: from, remove: text.slice(from, next), insert: '' };
  if (map.items.length > 1 || holder === null) return [gone];
  return [insertion(keyEnd(holder), ' {}'), gone];
}

function removeFromFlow(text: string, map: MapNode, pair: PairNode): Change[] {
  return removeItem({
    text,
    commentEnd: yamlComment(text),
    within: { start: startOf(map), end: endOf(map) },
    items: pairSpans(map),
    index: (map.items as PairNode[]).indexOf(pair),
  });
}
