/**
 * The guard of git. Verbs that need nothing of the operator run confined with the workspace alone; those that talk to
 * a remote run in a repository of the operator's own, and objects cross through the box. See docs/git-guard.md.
 */
import { WraptoolError } from '../../errors.ts';
import type { FrozenCall, Outcome } from '../types.ts';
import type { Guard, GuardHost } from './guard.ts';
import { openContext, type Context } from './git/box.ts';
import { fetch } from './git/fetch.ts';
import { local } from './git/local.ts';
import { lsRemote } from './git/ls-remote.ts';
import { pull } from './git/pull.ts';
import { push } from './git/push.ts';
import { Ended, Refusal } from './git/refusal.ts';
import { parseCommand, remoteVerbs, type Command } from './git/verbs.ts';

const remote: Readonly<Record<string, (context: Context, args: readonly string[]) => Promise<number>>> = {
  fetch,
  push,
  pull,
  'ls-remote': lsRemote,
};

export const gitGuard: Guard = {
  async run(call, host) {
    try {
      const command = parseCommand(call.argv);
      if (!remoteVerbs.has(command.verb))
        return await inContext(call, host, false, (context) => local(context, command));
      return await oneAtATime(call.guardOptions.stateDir, () =>
        inContext(call, host, true, (context) => overRemote(context, command)),
      );
    } catch (error) {
      if (error instanceof Refusal) return refused(error.message);
      // A link where the sandbox needs a folder is the workspace's doing.
      if (error instanceof WraptoolError && error.code === 'workspace_refused') return refused(error.message);
      throw error;
    }
  },
};

function refused(detail: string): Outcome {
  return { kind: 'refused', reason: 'guard_refused', detail };
}

async function overRemote(context: Context, { verb, args }: Command): Promise<Outcome> {
  try {
    const exitCode = await remote[verb]!(context, args);
    return context.host.finish({ exitCode, signal: null }, context.notes);
  } catch (error) {
    if (error instanceof Ended) return context.host.finish(error.result, context.notes);
    throw error;
  }
}

async function inContext(
  call: FrozenCall,
  host: GuardHost,
  needsFolder: boolean,
  work: (context: Context) => Promise<Outcome>,
): Promise<Outcome> {
  const opened = await openContext(call, host, needsFolder);
  try {
    return await work(opened.context);
  } finally {
    await opened.close();
  }
}

/** Calls that share a private repository take turns: git locks refs, and does not wait for them. */
const turns = new Map<string, Promise<unknown>>();

async function oneAtATime(stateDir: string, work: () => Promise<Outcome>): Promise<Outcome> {
  const before = turns.get(stateDir) ?? Promise.resolve();
  const mine = before.then(work);
  const settled = mine.then(
    () => undefined,
    () => undefined,
  );
  turns.set(stateDir, settled);
  try {
    return await mine;
  } finally {
    if (turns.get(stateDir) === settled) turns.delete(stateDir);
  }
}
