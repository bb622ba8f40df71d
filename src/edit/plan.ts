/** What a finder hands to the writer. */
import type { Change, Json } from './types.ts';

export type Plan = {
  readonly changes: readonly Change[];
  /** What the new text must say. */
  readonly expected: unknown;
  /** Text that is ours to remove. */
  readonly own?: readonly string[];
};

/** `value` under the last of `path`, wrapped in an object for each key before it. */
export function nested(path: readonly string[], value: Json): Json {
  return path.reduceRight<Json>((inner, key) => Object.fromEntries([[key, inner]]), value);
}

type Data = { [key: string]: unknown };

/** A copy of `data` with `value` at `path`; what is null or missing on the way becomes an object. */
export function withValue(data: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  return Object.fromEntries([
    ...Object.entries((data ?? {}) as Data).filter(([name]) => name !== key),
    [key, withValue(own(data, key), rest, value)],
  ]);
}

/** A copy of `data` without what is at `path`. */
export function withoutValue(data: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  const entries = Object.entries((data ?? {}) as Data);
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([name]) => name !== key)
      : entries.map(([name, value]) => [name, name === key ? withoutValue(value, rest) : value]),
  );
}

function own(data: unknown, key: string): unknown {
  return data !== null && data !== undefined && Object.hasOwn(data, key) ? (data as Data)[key] : undefined;
}

export function quoted(path: readonly string[]): string {
  return `'${path.join('.')}'`;
}
