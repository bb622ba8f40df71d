/**
 * One pass over a text that stops only where three characters in a row may begin something: some 2 ns per character,
 * where one large alternation takes several times as long.
 */

import type { Span } from './span.ts';

/** Tries one place of a text; `at` is where the three characters stand. */
export type Attempt = (text: string, at: number) => Span | null;

export type Trigger = {
  readonly start: string;
  readonly anyCase: boolean;
  readonly attempt: Attempt;
};

export type Triggers = {
  readonly attempts: ReadonlyMap<number, readonly Attempt[]>;
  /** 1 where `attempts` has the slot: small enough to stay in the cache. */
  readonly taken: Uint8Array;
};

const slots = 1 << 16;

/** `start` is at least three characters long, of which three count; `base` is what is looked for besides. */
export function makeTriggers(list: readonly Trigger[], base: Triggers | null = null): Triggers {
  const attempts = new Map<number, readonly Attempt[]>(base?.attempts);
  const taken = base === null ? new Uint8Array(slots) : base.taken.slice();
  for (const { start, anyCase, attempt } of list) {
    const three = start.slice(0, 3);
    for (const slot of new Set((anyCase ? caseVariants(three) : [three]).map(slotOf))) {
      attempts.set(slot, [...(attempts.get(slot) ?? []), attempt]);
      taken[slot] = 1;
    }
  }
  return { attempts, taken };
}

/** Everything found from `from` on, in the order of its triggers; finds of one name that overlap are one. */
export function findAll({ attempts, taken }: Triggers, text: string, from: number): Span[] {
  const found: Span[] = [];
  let first = text.charCodeAt(from);
  let second = text.charCodeAt(from + 1);
  const last = text.length - 2;
  for (let at = from; at < last; at++) {
    const third = text.charCodeAt(at + 2);
    const slot = ((first << 10) ^ (second << 5) ^ third) & 0xffff;
    if (taken[slot] === 1) {
      for (const attempt of attempts.get(slot)!) {
        const one = attempt(text, at);
        if (one === null) continue;
        const before = found.at(-1);
        // A value that repeats itself is found at each of its places: one span, not one for each.
        if (before?.name === one.name && one.start >= before.start && one.start < before.end) {
          if (one.end > before.end) found[found.length - 1] = { ...before, end: one.end };
        } else found.push(one);
      }
    }
    first = second;
    second = third;
  }
  return found;
}

function slotOf(start: string): number {
  return ((start.charCodeAt(0) << 10) ^ (start.charCodeAt(1) << 5) ^ start.charCodeAt(2)) & (slots - 1);
}

function caseVariants(start: string): string[] {
  return start
    .split('')
    .reduce<string[]>(
      (all, char) =>
        all.flatMap((head) =>
          [...new Set([char.toLowerCase(), char.toUpperCase()])].map((one) => head + one),
        ),
      [''],
    );
}
