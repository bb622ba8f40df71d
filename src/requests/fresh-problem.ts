/** The product's own validator, for texts that an edit made. */
import { parseConfig } from '../config/load.ts';
import { WraptoolError } from '../errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** What keeps the new text from loading and did not keep the old one from it; null where nothing does. */
export function freshProblem(before: string, after: string, file: string, env: Env): string | null {
  const known = new Set(problems(before, file, env).map(unplaced));
  return problems(after, file, env).find((problem) => !known.has(unplaced(problem))) ?? null;
}

/** Positions move with the addition. */
function unplaced(problem: string): string {
  return problem.replace(/:\d+:\d+\b/, '');
}

function problems(text: string, file: string, env: Env): readonly string[] {
  try {
    parseConfig(Buffer.from(text), { file, real: file, env });
    return [];
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    return error.problems.length > 0 ? error.problems : [error.message];
  }
}
