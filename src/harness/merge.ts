/** Merging of JSON: objects by key, lists as sets, for everything else the seed wins. */

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `seed` merged into `base`, which is left as it is. Its depth of recursion is the seed's, never the base's. */
export function mergeJson(base: unknown, seed: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(seed)) {
    const there = new Set(
      base.filter((item) => typeof item !== 'object').map((item) => JSON.stringify(item)),
    );
    return [...base, ...seed.filter((item) => !there.has(JSON.stringify(item)))];
  }
  if (!isObject(base) || !isObject(seed)) return seed;
  // Own entries only, set through fromEntries: a key "__proto__" stays a key.
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(seed))
    merged.set(key, merged.has(key) ? mergeJson(merged.get(key), value) : value);
  return Object.fromEntries(merged);
}
