/** Finds where an entry goes in another program’s YAML file, and how it is written there. */
import { isDeepStrictEqual } from 'node:util';
import { isAlias, isMap, isScalar, visit, type Document, type Node } from 'yaml';
import { insertion } from './flow.ts';
import { lastBreak, lineEnd, linesAfter } from './lines.ts';
import { nested, quoted, withValue, type Plan } from './plan.ts';
import { EditRefused } from './refuse.ts';
import type { Change, Json } from './types.ts';
import { addToFlow, dropValue, fillFlow, fillNull, insertionOf } from './yaml-flow.ts';
import {
  endOf,
  isEmpty,
  isFlow,
  isNull,
  keyEnd,
  pairEnd,
  pairOf,
  pairStart,
  readYaml,
  startOf,
  valueOf,
  type MapNode,
  type PairNode,
} from './yaml-read.ts';
import { colonGap, column, commaGap, innerSpace, pairSpans, quoteOf } from './yaml-style.ts';
import { blockPair, blockValue, flowPair, flowValue, onOneLine, type FlowLayout } from './yaml-value.ts';

type Context = { readonly text: string; readonly root: MapNode };

/** Puts `value` at `path`; null where it is there already. */
export function setYaml(text: string, path: readonly string[], value: Json): Plan | null {
  const document = readYaml(text);
  const root: Node | null = document?.contents ?? null;
  const data = valueOf(document);
  if (document === null || isNull(root))
    return { changes: firstMapping(text, root, nested(path, value)), expected: nested(path, value) };
  if (!isMap(root)) throw new EditRefused('wrong_type', 'the file must hold a mapping', startOf(root));
  const context = { text, root: root as MapNode };
  const expected = withValue(data, path, value);
  let node = root as MapNode;
  let holder: PairNode | null = null;
  for (const [index, key] of path.entries()) {
    const pair = pairOf(node, key);
    const rest = path.slice(index + 1);
    const added = nested(rest, value);
    if (pair === null) return { changes: addPair(context, node, holder, key, added), expected };
    if (rest.length === 0) return replace(context, document, node, pair, path, value, expected);
    checkShared(document, pair, quoted(path.slice(0, index + 1)));
    if (isNull(pair.value)) return { changes: fillPair(context, node, pair, added), expected };
    if (!isMap(pair.value))
      throw new EditRefused(
        'wrong_type',
        `${quoted(path.slice(0, index + 1))} must be a mapping`,
        startOf(pair.value),
      );
    holder = pair;
    node = pair.value as MapNode;
  }
  throw new RangeError('a path has at least one key');
}

/** Refuses a container that stands in more than one place. */
export function checkShared(document: Document.Parsed, { value }: PairNode, name: string): void {
  if (isAlias(value))
    throw new EditRefused(
      'shared_value',
      `${name} is an alias: a change would be seen elsewhere too`,
      startOf(value),
    );
  const anchor = value?.anchor;
  if (anchor === undefined) return;
  visit(document, {
    Alias(_, alias) {
      if (alias.source === anchor)
        throw new EditRefused(
          'shared_value',
          `${name} has an alias: a change would be seen elsewhere too`,
          startOf(alias),
        );
    },
  });
}

/** Refuses to take away what has an anchor that is used elsewhere. */
export function checkLoss(document: Document.Parsed, pair: PairNode, name: string): void {
  const anchors = new Set<string>();
  const inside = new Set<Node>();
  visit(pair.value, {
    Node(_, node) {
      inside.add(node);
      if (!isAlias(node) && node.anchor !== undefined) anchors.add(node.anchor);
    },
  });
  visit(document, {
    Alias(_, alias) {
      if (!inside.has(alias) && anchors.has(alias.source))
        throw new EditRefused('shared_value', `a part of ${name} is used elsewhere`, startOf(alias));
    },
  });
}

/** The mapping of a file that has none: behind what is there, or in place of null. */
function firstMapping(text: string, root: Node | null, value: Json): Change[] {
  const lines = blockValue(value, 0, 2);
  if (root !== null && !isEmpty(root)) {
    const [start, end] = [startOf(root), endOf(root)];
    return [{ at: start, remove: text.slice(start, end), insert: lines.join(lineEnd(text, end).eol) }];
  }
  if (root !== null) return [insertionOf(linesAfter(text, startOf(root), lines))];
  const eol = lastBreak(text);
  const whole = text === '' || text.endsWith('\n');
  return [insertion(text.length, lines.map((line) => (whole ? line + eol : eol + line)).join(''))];
}

/** A pair for a mapping; `holder` is the pair whose value that is, null for the root. */
function addPair(
  context: Context,
  node: MapNode,
  holder: PairNode | null,
  key: string,
  value: Json,
): Change[] {
  const { text, root } = context;
  const first = node.items[0] as PairNode | undefined;
  if (first === undefined) return fillMapping(context, node, holder, key, value);
  if (isFlow(node)) return addToFlow(text, pairSpans(node), [flowPair(key, value, layoutOf(text, node))]);
  const at = column(text, pairStart(first));
  return [
    insertionOf(linesAfter(text, endOf(node), blockPair(key, value, at, stepOf(text, root, node, holder)))),
  ];
}

/** `{}` becomes a block, unless it stands in a flow mapping or holds a comment. */
function fillMapping(
  context: Context,
  node: MapNode,
  holder: PairNode | null,
  key: string,
  value: Json,
): Change[] {
  const { text, root } = context;
  const [start, end] = [startOf(node), endOf(node)];
  const commented = text.slice(start, end).includes('#');
  if (commented || (holder !== null && isFlow(root)) || (holder !== null && inFlow(root, holder)))
    return fillFlow(text, { start, end }, flowPair(key, value, layoutOf(text, isFlow(root) ? root : node)));
  if (holder !== null) return fillPair(context, root, holder, { [key]: value });
  const lines = blockPair(key, value, 0, 2);
  return [{ at: start, remove: text.slice(start, end), insert: lines.join(lineEnd(text, end).eol) }];
}

function inFlow(node: MapNode, pair: PairNode): boolean {
  return (node.items as PairNode[]).some(
    (item) => (item === pair && isFlow(node)) || (isMap(item.value) && inFlow(item.value as MapNode, pair)),
  );
}

/** The value of a pair that has none, null or `{}`. */
function fillPair(context: Context, node: MapNode, pair: PairNode, value: Json): Change[] {
  const { text, root } = context;
  if (isFlow(node)) return [fillNull(text, pair, flowValue(value, layoutOf(text, node)))];
  const step = stepOf(text, root, null, pair);
  const lines = blockValue(value, column(text, pairStart(pair)) + step, step);
  return [...dropValue(text, pair), insertionOf(linesAfter(text, pairEnd(pair), lines))];
}

function replace(
  context: Context,
  document: Document.Parsed,
  node: MapNode,
  pair: PairNode,
  path: readonly string[],
  value: Json,
  expected: unknown,
): Plan | null {
  const { text, root } = context;
  const old = path.reduce<unknown>((data, key) => (data as Record<string, unknown>)[key], valueOf(document));
  if (isDeepStrictEqual(old, value)) return null;
  checkLoss(document, pair, quoted(path));
  const [start, end] = [startOf(pair.value), endOf(pair.value)];
  const flat = onOneLine(value);
  if (
    isFlow(node) ||
    (!isNull(pair.value) && (isFlow(pair.value as Node) || (isScalar(pair.value) && flat !== null)))
  ) {
    const layout = layoutOf(text, isMap(pair.value) && isFlow(pair.value) ? (pair.value as MapNode) : node);
    const change = isEmpty(pair.value)
      ? fillNull(text, pair, flowValue(value, layout))
      : { at: start, remove: text.slice(start, end), insert: flowValue(value, layout) };
    return { changes: [change], expected, own: [change.remove] };
  }
  const step = stepOf(text, root, node, pair);
  const lines = flat === null ? blockValue(value, column(text, pairStart(pair)) + step, step) : [flat];
  const below = lineEnd(text, keyEnd(pair));
  const changes =
    isNull(pair.value) || start < below.next
      ? [...dropValue(text, pair), insertionOf(linesAfter(text, pairEnd(pair), lines))]
      : [replaceLines(text, below.next, lineEnd(text, endOf(pair.value)), lines)];
  return { changes, expected, own: changes.map(({ remove }) => remove) };
}

function replaceLines(
  text: string,
  from: number,
  last: ReturnType<typeof lineEnd>,
  lines: readonly string[],
): Change {
  const insert = lines.join(last.eol) + (last.broken ? last.eol : '');
  return { at: from, remove: text.slice(from, last.next), insert };
}

function layoutOf(text: string, node: MapNode): FlowLayout {
  const flow = isFlow(node);
  return {
    inner: flow ? innerSpace(text, startOf(node)) : '',
    gap: flow ? commaGap(text, pairSpans(node)) : ' ',
    colon: flow ? colonGap(text, node.items[0] as PairNode | undefined) : ': ',
    quoteAll: flow && quoteOf(node.items[0]?.key) === 'double',
  };
}

/** By how much a level is indented: an entry’s keys from the entry, else the entries from the container, else as at the root. */
function stepOf(text: string, root: MapNode, node: MapNode | null, holder: PairNode | null): number {
  const within = node?.items.map((pair) => stepBelow(text, pair as PairNode)).find((step) => step > 0);
  const around = holder === null ? 0 : stepBelow(text, holder);
  const anywhere = root.items.map((pair) => stepBelow(text, pair as PairNode)).find((step) => step > 0);
  return within ?? (around > 0 ? around : (anywhere ?? 2));
}

function stepBelow(text: string, pair: PairNode): number {
  if (!isMap(pair.value) || isFlow(pair.value)) return 0;
  const first = pair.value.items[0] as PairNode | undefined;
  return first === undefined ? 0 : column(text, pairStart(first)) - column(text, pairStart(pair));
}
