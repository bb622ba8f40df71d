/**
 * Runs inside the runtime, as the harness's user, before the harness: is everything there that it will need, and nothing
 * that it must not have? Usage: preflight.ts JSON. One line of JSON on stdout, a list of findings; none is good news.
 */
import { checkCredentials } from './preflight/credentials.ts';
import { checkGateway } from './preflight/gateway.ts';
import { checkGit, checkWorkspace } from './preflight/workspace.ts';
import { checkClock, checkLocale, checkTerminal } from './preflight/surroundings.ts';
import { checkNames } from './preflight/names.ts';
import type { Expected, Finding } from './preflight/types.ts';

const expected = JSON.parse(process.argv[2] ?? '{}') as Expected;
const { env } = process;
/** Each by itself: what one of them meets keeps none of the others from its answer. */
const checks: Readonly<Record<string, () => Finding[] | Promise<Finding[]>>> = {
  workspace: () => checkWorkspace(expected),
  git: () => checkGit(expected),
  gateway: () => checkGateway(expected, env),
  dns: () => checkNames(expected),
  clock: () => checkClock(expected, env),
  locale: () => checkLocale(env),
  terminal: () => checkTerminal(expected, env),
  credentials: () => checkCredentials(expected, env),
};

const found = await Promise.all(
  Object.entries(checks).map(async ([check, run]): Promise<Finding[]> => {
    try {
      return await run();
    } catch (error) {
      const detail = `could not be looked at: ${(error as Error).message}`;
      // What must not be in here is not taken to be absent because nobody could look, nor the gateway to be there.
      const level = ['credentials', 'gateway'].includes(check) ? 'fault' : 'warning';
      return [{ check, level, detail, mend: 'read the reason' }];
    }
  }),
);
process.stdout.write(`${JSON.stringify(found.flat())}\n`, () => process.exit(0));
