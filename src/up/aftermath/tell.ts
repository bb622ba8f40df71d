/** What the session changed among the files that run by themselves, in lines for the operator. */
import type { Look } from './look.ts';

const mostLines = 40;

/** Empty where nothing changed. Names in it are the agent's: to be escaped where they are shown. */
export function changedLines(before: Look, after: Look): readonly string[] {
  const changes = [...new Set([...before.found.keys(), ...after.found.keys()])].sort().flatMap((path) => {
    const [was, is] = [before.found.get(path), after.found.get(path)];
    if (was?.print === is?.print) return [];
    const how = was === undefined ? 'new' : is === undefined ? 'removed' : 'changed';
    return [`  ${path} (${how}): ${(is ?? was)!.by}`];
  });
  const more = changes.length - mostLines;
  const lines = more > 0 ? [...changes.slice(0, mostLines), `  and ${more} more`] : changes;
  const head =
    lines.length === 0 ? [] : ['changed in the workspace, and runs on your own next command there:'];
  const bound =
    before.whole && after.whole
      ? []
      : ['the workspace is too large to look for all that would run on your next command there'];
  return [...head, ...lines, ...bound];
}
