/**
 * How the cost of backtracking grows with the length of the value, by the ambiguity of the position automaton:
 * exponential if some state has two loops over one word, polynomial if two states with loops over one word are
 * joined by a path over that word (Weber and Seidl 1991), else linear.
 */
import { leafBorders, type Node } from './parse.ts';

export type Growth = 'linear' | 'polynomial' | 'exponential';

type Counts = Map<number, number>;
type Fragment = { readonly empty: number; readonly first: Counts; readonly last: Counts };
type Automaton = { readonly leaves: string[]; readonly follow: Counts[] };

const maxPositions = 400;
const maxSteps = 400_000;
const many = 2;

class TooLarge extends Error {}

/**
 * `bounded` says what `{n,m}` counts as: `copies` for what grows without limit as the value does, `loop` for what
 * a backtracking matcher may try in the worst case.
 */
export function growth(
  node: Node,
  test: (leaf: string, character: string) => boolean,
  bounded: 'copies' | 'loop',
): Growth {
  try {
    const automaton = build(node, bounded);
    const overlaps = overlap(automaton.leaves, test);
    return judge(automaton, overlaps);
  } catch (error) {
    if (error instanceof TooLarge) return 'polynomial';
    throw error;
  }
}

function add(into: Counts, from: Counts, factor: number): void {
  if (factor === 0) return;
  for (const [position, count] of from)
    into.set(position, Math.min(many, (into.get(position) ?? 0) + count * factor));
}

function build(root: Node, bounded: 'copies' | 'loop'): Automaton {
  const leaves: string[] = [];
  const follow: Counts[] = [];
  const nothing: Fragment = { empty: 1, first: new Map(), last: new Map() };

  function link(last: Counts, first: Counts): void {
    for (const [position, count] of last) add(follow[position] ?? new Map(), first, count);
  }

  function join(a: Fragment, b: Fragment): Fragment {
    link(a.last, b.first);
    const first = new Map(a.first);
    add(first, b.first, a.empty);
    const last = new Map(b.last);
    add(last, a.last, b.empty);
    return { empty: Math.min(many, a.empty * b.empty), first, last };
  }

  function either(parts: readonly Fragment[]): Fragment {
    const first: Counts = new Map();
    const last: Counts = new Map();
    let empty = 0;
    for (const part of parts) {
      add(first, part.first, 1);
      add(last, part.last, 1);
      empty += part.empty;
    }
    return { empty: Math.min(many, empty), first, last };
  }

  function repeat(item: Node, min: number, max: number): Fragment {
    if (max === 0) return nothing;
    if (max === Infinity || (bounded === 'loop' && max > 1)) {
      const part = visit(item);
      link(part.last, part.first);
      // An empty round of a loop ends it, so skipping is the only empty way.
      return { ...part, empty: min === 0 ? 1 : part.empty };
    }
    const least = Math.min(min, 2);
    let optional: Fragment | null = null;
    const extra = max === min ? 0 : Math.min(max, least + 1) - least;
    for (let index = 0; index < extra; index++) {
      const part: Fragment = optional ? join(visit(item), optional) : visit(item);
      optional = { ...part, empty: 1 };
    }
    let result: Fragment = optional ?? nothing;
    for (let index = 0; index < least; index++) result = join(visit(item), result);
    return result;
  }

  function visit(node: Node): Fragment {
    if (node.kind === 'leaf') {
      if (leaves.length >= maxPositions) throw new TooLarge();
      const position = leaves.push(node.source) - 1;
      follow.push(new Map());
      const own: Counts = new Map([[position, 1]]);
      return { empty: 0, first: own, last: own };
    }
    if (node.kind === 'cat') return node.items.map(visit).reduce(join, nothing);
    if (node.kind === 'alt') return either(node.items.map(visit));
    if (node.kind === 'rep') return repeat(node.item, node.min, node.max);
    return nothing;
  }

  visit(root);
  return { leaves, follow };
}

/** For each pair of positions, whether one character fits both. */
function overlap(
  leaves: readonly string[],
  test: (leaf: string, character: string) => boolean,
): (a: number, b: number) => boolean {
  const distinct = [...new Set(leaves)];
  const points = new Set<number>([0x20, 0x61, 0x1f600]);
  for (const leaf of distinct)
    for (const point of leafBorders(leaf).points)
      for (const near of [point - 1, point, point + 1]) points.add(near);
  const characters = [...points]
    .filter((point) => point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff))
    .map((point) => String.fromCodePoint(point));
  const members = distinct.map((leaf) => characters.map((character) => test(leaf, character)));
  const table = members.map((a) => members.map((b) => a.some((hit, index) => hit && b[index] === true)));
  const index = leaves.map((leaf) => distinct.indexOf(leaf));
  return (a, b) => table[index[a] ?? 0]?.[index[b] ?? 0] === true;
}

function judge(automaton: Automaton, overlaps: (a: number, b: number) => boolean): Growth {
  const next = automaton.follow.map((counts) => [...counts.keys()]);
  const groups = components(next.length, (position) => next[position] ?? []);
  const loops = groups.filter((group) => group.length > 1 || next[group[0] ?? 0]?.includes(group[0] ?? 0));
  let steps = 0;
  function step(): void {
    if (++steps > maxSteps) throw new TooLarge();
  }

  for (const group of loops) {
    const inside = new Set(group);
    for (const position of group)
      for (const [target, count] of automaton.follow[position] ?? [])
        if (inside.has(target) && count > 1) return 'exponential';
    if (twoWaysRound(group, next, overlaps, step)) return 'exponential';
  }
  for (const first of loops)
    for (const second of loops)
      if (first !== second && joined(first, second, next, overlaps, step)) return 'polynomial';
  return 'linear';
}

/** Whether some position of the group comes back to itself in two ways over one word. */
function twoWaysRound(
  group: readonly number[],
  next: readonly (readonly number[])[],
  overlaps: (a: number, b: number) => boolean,
  step: () => void,
): boolean {
  const size = group.length;
  const place = new Map(group.map((position, index) => [position, index]));
  const pairs = components(size * size, (pair) => {
    const found: number[] = [];
    for (const a of next[group[Math.floor(pair / size)] ?? 0] ?? [])
      for (const b of next[group[pair % size] ?? 0] ?? []) {
        step();
        const [x, y] = [place.get(a), place.get(b)];
        if (x !== undefined && y !== undefined && overlaps(a, b)) found.push(x * size + y);
      }
    return found;
  });
  const diagonal = (pair: number): boolean => Math.floor(pair / size) === pair % size;
  return pairs.some((set) => set.some(diagonal) && !set.every(diagonal));
}

/** Whether p in `first` and q in `second` have loops over a word that also leads from p to q. */
function joined(
  first: readonly number[],
  second: readonly number[],
  next: readonly (readonly number[])[],
  overlaps: (a: number, b: number) => boolean,
  step: () => void,
): boolean {
  const [home, away] = [new Set(first), new Set(second)];
  for (const p of first)
    for (const q of second) {
      const goal = `${p},${q},${q}`;
      const seen = new Set([`${p},${p},${q}`]);
      const queue: (readonly [number, number, number])[] = [[p, p, q]];
      for (let item = queue.pop(); item; item = queue.pop())
        for (const a of next[item[0]] ?? [])
          for (const c of next[item[2]] ?? []) {
            step();
            if (!home.has(a) || !away.has(c) || !overlaps(a, c)) continue;
            for (const b of next[item[1]] ?? []) {
              step();
              // Pairwise overlap is a little more than a common character: it errs towards "polynomial".
              if (!overlaps(a, b) || !overlaps(b, c)) continue;
              const key = `${a},${b},${c}`;
              if (key === goal) return true;
              if (!seen.has(key)) queue.push([a, b, c]);
              seen.add(key);
            }
          }
    }
  return false;
}

/** Strongly connected components (Tarjan, without recursion). */
function components(count: number, edges: (node: number) => readonly number[]): number[][] {
  const order = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const onStack = new Uint8Array(count);
  const stack: number[] = [];
  const found: number[][] = [];
  let counter = 0;
  for (let root = 0; root < count; root++) {
    if (order[root] !== -1) continue;
    const work: { node: number; targets: readonly number[]; at: number }[] = [];
    const enter = (node: number): void => {
      order[node] = low[node] = counter++;
      stack.push(node);
      onStack[node] = 1;
      work.push({ node, targets: edges(node), at: 0 });
    };
    enter(root);
    for (let frame = work.at(-1); frame; frame = work.at(-1)) {
      const target = frame.targets[frame.at++];
      if (target === undefined) {
        work.pop();
        const parent = work.at(-1);
        if (parent) low[parent.node] = Math.min(low[parent.node] ?? 0, low[frame.node] ?? 0);
        if (low[frame.node] === order[frame.node]) found.push(popUntil(stack, frame.node, onStack));
      } else if (order[target] === -1) enter(target);
      else if (onStack[target] === 1) low[frame.node] = Math.min(low[frame.node] ?? 0, order[target] ?? 0);
    }
  }
  return found;
}

function popUntil(stack: number[], node: number, onStack: Uint8Array): number[] {
  const group: number[] = [];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    onStack[top] = 0;
    group.push(top);
    if (top === node) break;
  }
  return group;
}
