/** Which statements of a TOML file make up an entry or hold it. */
import type { Statement } from './toml-read.ts';

export function startsWith(path: readonly string[], head: readonly string[]): boolean {
  return path.length >= head.length && head.every((key, index) => path[index] === key);
}

export function valueAt(data: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string, unknown>)[key]
        : undefined,
    data,
  );
}

/** The pair whose value is an inline table that holds the entry or would. */
export function inlineHolder(
  text: string,
  found: readonly Statement[],
  path: readonly string[],
): Statement | null {
  return (
    found.find(
      ({ kind, path: own, value }) =>
        kind === 'pair' && own.length < path.length && startsWith(path, own) && text[value.start] === '{',
    ) ?? null
  );
}

/** The statements that make up the entry: its header, pairs and sub-tables. */
export function entryParts(found: readonly Statement[], path: readonly string[]): Statement[] {
  return found.filter(({ path: own }) => startsWith(own, path));
}
