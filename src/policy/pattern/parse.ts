/** Syntax tree of a JavaScript regular expression (flag u) that is known to be valid. */

export type Node =
  | { readonly kind: 'leaf'; readonly source: string }
  | { readonly kind: 'cat'; readonly items: readonly Node[] }
  | { readonly kind: 'alt'; readonly items: readonly Node[] }
  | { readonly kind: 'rep'; readonly item: Node; readonly min: number; readonly max: number }
  | { readonly kind: 'edge'; readonly edge: '^' | '$' | 'b' | 'B' }
  | { readonly kind: 'look'; readonly ahead: boolean; readonly negative: boolean; readonly item: Node };

/** Thrown for valid expressions that no linear-time matcher can run. */
export class UnsupportedPattern extends Error {}

const lookKinds: readonly (readonly [string, boolean, boolean])[] = [
  ['(?=', true, false],
  ['(?!', true, true],
  ['(?<=', false, false],
  ['(?<!', false, true],
];

export function parsePattern(source: string): Node {
  let at = 0;

  function alternatives(): Node {
    const items = [sequence()];
    while (source[at] === '|') {
      at++;
      items.push(sequence());
    }
    return items.length === 1 && items[0] ? items[0] : { kind: 'alt', items };
  }

  function sequence(): Node {
    const items: Node[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') items.push(quantified(atom()));
    return items.length === 1 && items[0] ? items[0] : { kind: 'cat', items };
  }

  function atom(): Node {
    const character = source[at];
    if (character === '(') return group();
    if (character === '^' || character === '$') {
      at++;
      return { kind: 'edge', edge: character };
    }
    if (character === '[') return take(classLength(source, at));
    if (character !== '\\') return take(String.fromCodePoint(source.codePointAt(at) ?? 0).length);
    const next = source[at + 1] ?? '';
    if (next === 'b' || next === 'B') {
      at += 2;
      return { kind: 'edge', edge: next };
    }
    if (/[1-9k]/.test(next)) throw new UnsupportedPattern('a backreference cannot be matched in linear time');
    return take(escapeLength(source, at));
  }

  function take(length: number): Node {
    const leaf = source.slice(at, at + length);
    at += length;
    return { kind: 'leaf', source: leaf };
  }

  function group(): Node {
    const look = lookKinds.find(([opening]) => source.startsWith(opening, at));
    const opening = look?.[0] ?? /^\((?:\?:|\?<[^>]*>|(?!\?))/u.exec(source.slice(at))?.[0];
    if (opening === undefined) throw new UnsupportedPattern('inline modifiers are not supported');
    at += opening.length;
    const item = alternatives();
    at++;
    return look ? { kind: 'look', ahead: look[1], negative: look[2], item } : item;
  }

  function quantified(item: Node): Node {
    const found = /^(?:[*+?]|\{(\d+)(,)?(\d*)\})\??/.exec(source.slice(at, at + 40));
    if (!found) return item;
    at += found[0].length;
    const sign = found[0][0];
    if (sign === '*') return { kind: 'rep', item, min: 0, max: Infinity };
    if (sign === '+') return { kind: 'rep', item, min: 1, max: Infinity };
    if (sign === '?') return { kind: 'rep', item, min: 0, max: 1 };
    const min = Number(found[1]);
    const upper = found[3] === '' ? Infinity : Number(found[3]);
    return { kind: 'rep', item, min, max: found[2] === undefined ? min : upper };
  }

  return alternatives();
}

/** Length of the escape that begins at `at`. */
export function escapeLength(source: string, at: number): number {
  const rest = source.slice(at, at + 64);
  // A surrogate pair written as two escapes is one character.
  const found =
    /^\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\})/.exec(
      rest,
    );
  return found?.[0].length ?? 2;
}

function classLength(source: string, start: number): number {
  let at = start + 1;
  while (source[at] !== ']') at += source[at] === '\\' ? escapeLength(source, at) : 1;
  return at + 1 - start;
}

/** Code points at which the leaf's membership may change, and whether it has classes that these do not describe. */
export function leafBorders(leaf: string): { points: number[]; exotic: boolean } {
  const points: number[] = [];
  let exotic = false;
  const inner = leaf.startsWith('[') ? leaf.slice(1, -1) : leaf;
  for (let at = 0; at < inner.length;) {
    const length = inner[at] === '\\' ? escapeLength(inner, at) : inner.codePointAt(at)! > 0xffff ? 2 : 1;
    const piece = inner.slice(at, at + length);
    at += length;
    if (/^\\[pP]/.test(piece)) exotic = true;
    else points.push(...pieceBorders(piece));
  }
  return { points, exotic };
}

const classBorders: Readonly<Record<string, readonly number[]>> = {
  d: [0x30, 0x39],
  w: [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x61, 0x7a],
  s: [0x09, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
};
const letters: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0, b: 8 };

function pieceBorders(piece: string): readonly number[] {
  if (piece === '.') return [0x0a, 0x0d, 0x2028, 0x2029];
  if (!piece.startsWith('\\')) return [piece.codePointAt(0) ?? 0];
  const kind = piece[1] ?? '';
  const known = classBorders[kind.toLowerCase()];
  if (known) return known;
  if (piece.length === 2) return [letters[kind] ?? piece.charCodeAt(1)];
  if (kind === 'c') return [piece.charCodeAt(2) % 32];
  const digits = [...piece.matchAll(/[ux]\{?([0-9a-fA-F]+)\}?/g)].map((found) =>
    parseInt(found[1] ?? '', 16),
  );
  const [high = 0, low] = digits;
  return [low === undefined ? high : (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000];
}
