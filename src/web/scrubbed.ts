/** Secrets out of what the page is told. */
import type { Config } from '../config/types.ts';
import { configuredScrubber } from '../scrub/configured.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Text that the operator edits and that is written back: it must come as it is. */
const asWritten: ReadonlySet<string> = new Set(['sections']);

/** A list is told again and again, and little of it is new: what was scrubbed is remembered, as far as this goes. */
const remembered = 4_096;
const longestRemembered = 400;

/** Every string of a value, at any depth, with the secrets that are known in `config` and by their shape redacted. */
export function createScrub({ scrub }: Pick<Config, 'scrub'>, env: Env): (value: unknown) => unknown {
  const scrubber = configuredScrubber(scrub, env);
  const known = new Map<string, string>();
  const scrubbed = (text: string): string => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const after = scrubber.scrub(text);
    if (text.length <= longestRemembered) {
      if (known.size >= remembered) known.clear();
      known.set(text, after);
    }
    return after;
  };
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return scrubbed(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, asWritten.has(key) ? inner : walk(inner)]),
    );
  };
  return walk;
}
