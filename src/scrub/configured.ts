/** The scrubber of a config. */
import { createScrubber, type Scrubber } from './scrubber.ts';

type Configured = {
  readonly values_from_env: readonly string[];
  readonly patterns: Parameters<typeof createScrubber>[0]['patterns'];
};

/** Values of the variables that are named, and the patterns; `more` are further values. One that is not set is none. */
export function configuredScrubber(
  { values_from_env, patterns }: Configured,
  env: Readonly<Record<string, string | undefined>>,
  more: readonly { readonly name: string; readonly value: string }[] = [],
): Scrubber {
  const named = values_from_env.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [{ name, value }];
  });
  return createScrubber({ literals: [...more, ...named], patterns });
}
