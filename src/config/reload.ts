/** PURE: what of a new config takes effect at once, and what waits for a restart. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from './types.ts';

export type ReloadPlan = {
  /** The new config with the running values of the keys that wait. */
  readonly apply: Config;
  /** Paths of the keys that changed and wait. */
  readonly waiting: readonly string[];
};

/** What a gateway reads once, when it starts. */
const startKeys: readonly (readonly string[])[] = [
  ['mcp', 'listen'],
  ['mcp', 'socket'],
  ['mcp', 'token_env'],
  ['mcp', 'token_file'],
  ['mcp', 'allowed_cwd_roots'],
  ['admin'],
  ['requests', 'log'],
];

export function planReload(running: Config, next: Config): ReloadPlan {
  const waiting = startKeys.filter((key) => !isDeepStrictEqual(at(running, key), at(next, key)));
  const apply = waiting.reduce<unknown>((config, key) => withValue(config, key, at(running, key)), next);
  return { apply: apply as Config, waiting: waiting.map((key) => key.join('.')) };
}

function at(value: unknown, key: readonly string[]): unknown {
  return key.reduce<unknown>((inner, name) => (isRecord(inner) ? inner[name] : undefined), value);
}

/** A frozen copy; a value that is undefined takes the key out. */
function withValue(value: unknown, [name, ...rest]: readonly string[], wanted: unknown): unknown {
  if (name === undefined) return wanted;
  const inner = isRecord(value) ? value : {};
  const { [name]: old, ...others } = inner;
  const made = withValue(old, rest, wanted);
  return Object.freeze(made === undefined ? others : { ...others, [name]: made });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
