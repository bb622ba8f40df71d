/**
 * A text that is not fully known is a string in which one private-use character stands for each unknown piece. All
 * operations on strings then work on it as they are. The input's own private-use characters are replaced beforehand.
 */
import type { Origin } from './types.ts';

const first = 0xe000;
const last = 0xf8ff;
const hole = /[\ue000-\uf8ff]/;
const holes = /[\ue000-\uf8ff]/g;

/** Text from outside, so that nothing in it is taken for a hole. */
export function outside(text: string): string {
  return text.replace(holes, '\ufffd');
}

export function isKnown(text: string): boolean {
  return !hole.test(text);
}

/** The text with each hole replaced. */
export function fillHoles(text: string, filler: string): string {
  return text.replace(holes, filler);
}

export class Holes {
  readonly #origins: Origin[] = [{ of: 'unknown' }];

  /** The character that stands for it. Where there are too many, the later ones are simply unknown. */
  of(origin: Origin): string {
    if (origin.of === 'unknown') return String.fromCharCode(first);
    if (this.#origins.length > last - first) return String.fromCharCode(first);
    return String.fromCharCode(first + this.#origins.push(origin) - 1);
  }

  get unknown(): string {
    return String.fromCharCode(first);
  }

  /** Origins of the holes in a text, in order, each once. */
  in(text: string): Origin[] {
    const codes = new Set((text.match(holes) ?? []).map((character) => character.charCodeAt(0)));
    return [...codes].map((code) => this.#origins[code - first] ?? { of: 'unknown' });
  }
}
