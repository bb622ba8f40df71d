/** Where the value at a path stands in a YAML document. Looked up in its nodes when asked: most places never are. */
import { isAlias, isMap, isScalar, isSeq, type Document, type Node, type Pair } from 'yaml';
import type { ConfigPath } from '../policy/spec.ts';

/** Offsets into the text. */
type Spot = { readonly key: number; readonly value: number; readonly node: Node | null };

export type Places = {
  /** Of the value at a path (`value`) or of its key; else of the deepest part of the path that is there. */
  readonly offsetOf: (path: ConfigPath, what: 'key' | 'value') => number;
};

export function placesOf(document: Document): Places {
  // A map with thousands of keys is not gone through once for each of them.
  const indexes = new Map<Node, ReadonlyMap<string, Pair>>();

  function pairOf(map: Node & { items: Pair[] }, name: string): Pair | undefined {
    let index = indexes.get(map);
    if (index === undefined) {
      index = new Map(
        map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : '', pair] as const),
      );
      indexes.set(map, index);
    }
    return index.get(name);
  }

  function spotOf(parent: Node | null, step: string | number): Spot | null {
    const node = parent !== null && isAlias(parent) ? (parent.resolve(document) ?? null) : parent;
    if (isSeq(node)) {
      if (typeof step !== 'number' || step >= node.items.length) return null;
      const item = node.items[step] as Node | null;
      const start = item?.range?.[0] ?? node.range?.[0] ?? 0;
      return { key: start, value: start, node: item };
    }
    if (!isMap(node) || typeof step !== 'string') return null;
    const pair = pairOf(node, step);
    if (pair === undefined) return null;
    const value = pair.value as Node | null;
    const start = (pair.key as Node).range?.[0] ?? 0;
    return { key: start, value: value?.range?.[0] ?? start, node: value };
  }

  return {
    offsetOf(path, what) {
      let node = document.contents as Node | null;
      let offset = 0;
      for (const [index, step] of path.entries()) {
        const spot = spotOf(node, step);
        if (spot === null) return offset;
        offset = what === 'key' && index === path.length - 1 ? spot.key : spot.value;
        node = spot.node;
      }
      return offset;
    },
  };
}
