/** Small checks of a tool's arguments, which are hostile. */

export const isStringList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Null, or a sentence that names the first property that is not known. */
export function onlyKeys(value: Readonly<Record<string, unknown>>, known: readonly string[]): string | null {
  const extra = Object.keys(value).find((key) => !known.includes(key));
  return extra === undefined
    ? null
    : `unknown property '${extra.slice(0, 100)}' (known: ${known.join(', ')})`;
}
