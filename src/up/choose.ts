/** Which runtime a session gets: what the operator asked for, or the first that works, never a weaker one than last time. */
import { WraptoolError } from '../errors.ts';
import { createRuntime } from './runtime/create.ts';
import { runtimeNames, type Runtime, type RuntimeName } from './runtime/runtime.ts';

export type Choice = { readonly runtime: Runtime; readonly why: string };

/** Parses a runtime's name from a flag or the config. */
export function parseRuntime(word: string): RuntimeName | 'auto' {
  if (word === 'auto') return 'auto';
  const found = runtimeNames.find((name) => name === word);
  if (found !== undefined) return found;
  throw new WraptoolError('runtime_unknown', `there is no runtime "${word}"`, {
    hint: `there are: auto, ${runtimeNames.join(', ')}`,
  });
}

/**
 * Candidates in order of strength with the reason for each that was passed over.
 * `last` is the runtime of the workspace's last session: `auto` never goes below it.
 */
export async function chooseRuntime(
  asked: RuntimeName | 'auto',
  last: string | undefined,
  about: { readonly baseImage: string | null; readonly workspace: string },
): Promise<Choice> {
  if (asked !== 'auto') {
    const runtime = createRuntime(asked);
    const found = await runtime.available(about);
    if (found.ok) return { runtime, why: 'asked for' };
    throw new WraptoolError(
      'runtime_unavailable',
      `the runtime "${asked}" cannot run here: ${found.reason}`,
      { hint: found.hint },
    );
  }
  const floor = runtimeNames.findIndex((name) => name === last);
  const passed: string[] = [];
  for (const [index, name] of runtimeNames.entries()) {
    if (floor >= 0 && index > floor) break;
    const runtime = createRuntime(name);
    const found = await runtime.available(about);
    if (found.ok) return { runtime, why: passed.length === 0 ? 'the first that works' : passed.join('; ') };
    passed.push(`${name}: ${found.reason}`);
  }
  if (floor >= 0)
    throw new WraptoolError(
      'runtime_unavailable',
      `this workspace ran in "${last}" last time, which does not work now (${passed.join('; ')})`,
      {
        hint: 'mend it, or name another one with --runtime',
      },
    );
  throw new WraptoolError('runtime_unavailable', `no runtime works here (${passed.join('; ')})`, {
    hint: 'install bubblewrap ("apt-get install bubblewrap slirp4netns"), Docker or Guix',
  });
}
