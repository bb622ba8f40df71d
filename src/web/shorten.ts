/**
 * Lists are told in short: what an agent wrote may be long, and many of them would keep everybody waiting. Records were
 * scrubbed when they were written, so that no half of a secret is left at a cut.
 */

/** More than a row of a table has room for. */
const longest = 1_000;
/** Of all texts of a value's lists together. */
const mostChars = 4_000;

/** The same shape with its texts cut, and with what was left out of a list counted. */
export function shorten<T>(value: T): T {
  let left = mostChars;
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') return cut(one, longest);
    if (Array.isArray(one)) return list(one as readonly unknown[]);
    if (typeof one !== 'object' || one === null) return one;
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]));
  };
  const list = (all: readonly unknown[]): unknown[] => {
    const kept: unknown[] = [];
    for (const item of all) {
      if (left <= 0) return [...kept, `… (${all.length - kept.length} more)`];
      kept.push(typeof item === 'string' ? cut(item, Math.min(longest, left)) : walk(item));
      left -= typeof item === 'string' ? item.length + 1 : 1;
    }
    return kept;
  };
  return walk(value) as T;
}

function cut(text: string, room: number): string {
  return text.length <= room
    ? text
    : `${text.slice(0, room).toWellFormed()}… (${text.length - room} more characters)`;
}
