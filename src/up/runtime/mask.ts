import type { LaunchSpec } from './runtime.ts';

/** The environment as it may be shown: values of secrets are not. */
export function maskedEnv(spec: Pick<LaunchSpec, 'env' | 'secretEnv'>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(spec.env).map(([name, value]) => [name, spec.secretEnv.has(name) ? '***' : value]),
  );
}
