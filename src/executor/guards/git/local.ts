/** Verbs that need nothing of the operator: git itself, in the box. */
import type { Outcome } from '../../types.ts';
import { boxStep, type Context } from './box.ts';
import { Refusal } from './refusal.ts';
import { signingVerbs, type Command } from './verbs.ts';

export async function local(context: Context, { globals, verb, args }: Command): Promise<Outcome> {
  const { call, host, notes } = context;
  if (verb === 'remote' && (await fromPolicy(context, args)))
    return host.finish({ exitCode: 0, signal: null }, notes);
  const step = boxStep(context, [call.binary.path, ...globals, verb, ...args]);
  const result = await host.exec(step, {
    output: 'stream',
    ...(call.stdin === null ? {} : { stdin: Buffer.from(call.stdin) }),
  });
  if (signingVerbs.has(verb) && result.exitCode === 0 && (await wantsSignature(context))) {
    notes.push('not signed: there is no key in the sandbox');
  }
  if (verb === 'submodule' && result.exitCode !== 0)
    notes.push('submodules are not fetched: there is no network in the sandbox');
  return host.finish(result, notes);
}

async function wantsSignature(context: Context): Promise<boolean> {
  // The pins say no to git itself; the repository's own file is asked.
  const command = [
    context.call.binary.path,
    'config',
    '--local',
    '--includes',
    '--type=bool',
    '--get',
    'commit.gpgSign',
  ];
  const { stdout } = await context.host.exec(boxStep(context, command));
  return stdout.toString('utf8').trim() === 'true';
}

/** What fetch and push will use is the operator's word; a change of the repository's own is only that. */
async function fromPolicy(context: Context, args: readonly string[]): Promise<boolean> {
  const { remotes } = context.call.guardOptions;
  const names = Object.keys(remotes);
  const [first, second] = args;
  if (
    first === 'update' ||
    first === 'prune' ||
    (first === 'set-head' && (args.includes('-a') || args.includes('--auto')))
  ) {
    throw new Refusal(
      `'git remote ${first}' talks to the remote; 'git fetch' is what the guard carries over`,
    );
  }
  if (first === 'show' && second !== undefined && !args.includes('-n')) {
    throw new Refusal(
      "'git remote show NAME' talks to the remote; 'git ls-remote NAME' or 'git remote show -n NAME'",
    );
  }
  if (
    names.length > 0 &&
    (args.length === 0 || (args.length === 1 && (first === '-v' || first === '--verbose')))
  ) {
    const verbose = args.length === 1;
    for (const name of names) {
      const line = verbose
        ? ['fetch', 'push'].map((way) => `${name}\t${remotes[name]!} (${way})\n`).join('')
        : `${name}\n`;
      context.host.write('stdout', line);
    }
    context.notes.push('these are the pinned remotes; what the repository says about remotes is not used');
    return true;
  }
  if (first === 'get-url' && second !== undefined && args.length === 2 && Object.hasOwn(remotes, second)) {
    context.host.write('stdout', `${remotes[second]!}\n`);
    return true;
  }
  if (first === 'add' || first === 'set-url' || first === 'rename' || first === 'remove' || first === 'rm') {
    context.notes.push('fetch and push use the pinned remotes, whatever the repository says');
  }
  return false;
}
