/** Which verbs need nothing of the operator, which talk to a remote, and what may stand before the verb. */
import { Refusal } from './refusal.ts';

/** They run confined, with the workspace alone; whatever the repository makes them run reaches nothing. */
export const localVerbs: ReadonlySet<string> = new Set([
  ...[
    'add',
    'am',
    'annotate',
    'apply',
    'archive',
    'bisect',
    'blame',
    'branch',
    'bundle',
    'cat-file',
    'check-attr',
  ],
  ...[
    'check-ignore',
    'check-mailmap',
    'check-ref-format',
    'checkout',
    'checkout-index',
    'cherry',
    'cherry-pick',
  ],
  ...[
    'clean',
    'column',
    'commit',
    'commit-graph',
    'commit-tree',
    'config',
    'count-objects',
    'describe',
    'diff',
  ],
  ...['diff-files', 'diff-index', 'diff-tree', 'fast-export', 'fast-import', 'filter-branch', 'for-each-ref'],
  ...[
    'for-each-repo',
    'format-patch',
    'fsck',
    'gc',
    'get-tar-commit-id',
    'grep',
    'hash-object',
    'help',
    'index-pack',
  ],
  ...[
    'init',
    'interpret-trailers',
    'log',
    'ls-files',
    'ls-tree',
    'mailinfo',
    'mailsplit',
    'maintenance',
    'merge',
  ],
  ...['merge-base', 'merge-file', 'merge-index', 'merge-tree', 'mktag', 'mktree', 'mv', 'name-rev', 'notes'],
  ...[
    'pack-objects',
    'pack-refs',
    'patch-id',
    'prune',
    'prune-packed',
    'range-diff',
    'read-tree',
    'rebase',
    'reflog',
  ],
  ...[
    'refs',
    'remote',
    'repack',
    'replace',
    'replay',
    'rerere',
    'reset',
    'restore',
    'rev-list',
    'rev-parse',
    'revert',
  ],
  ...[
    'rm',
    'shortlog',
    'show',
    'show-branch',
    'show-index',
    'show-ref',
    'sparse-checkout',
    'stage',
    'stash',
    'status',
  ],
  ...[
    'stripspace',
    'submodule',
    'switch',
    'symbolic-ref',
    'tag',
    'unpack-file',
    'unpack-objects',
    'update-index',
  ],
  ...[
    'update-ref',
    'var',
    'verify-commit',
    'verify-pack',
    'verify-tag',
    'version',
    'whatchanged',
    'worktree',
  ],
  'write-tree',
]);

export const remoteVerbs: ReadonlySet<string> = new Set(['fetch', 'push', 'pull', 'ls-remote']);

/** Verbs that only write to the repository what somebody asked for; a signature is left out of them. */
export const signingVerbs: ReadonlySet<string> = new Set([
  'commit',
  'tag',
  'merge',
  'rebase',
  'cherry-pick',
  'revert',
  'am',
]);

/** Flags before the verb that mean the same wherever the verb runs. */
const plainGlobals: ReadonlySet<string> = new Set([
  ...[
    '--no-pager',
    '-P',
    '--no-replace-objects',
    '--literal-pathspecs',
    '--glob-pathspecs',
    '--noglob-pathspecs',
  ],
  ...['--icase-pathspecs', '--no-optional-locks', '--no-lazy-fetch', '--no-advice'],
]);
/** They take a value and are harmless only where nothing but the workspace can be reached. */
const boxedGlobals: ReadonlySet<string> = new Set(['-C', '-c']);

export type Command = {
  readonly globals: readonly string[];
  readonly verb: string;
  readonly args: readonly string[];
};

/**
 * Takes a canonical argv apart.
 * @throws Refusal for a verb or global flag that the guard does not know.
 */
export function parseCommand(argv: readonly string[]): Command {
  const globals: string[] = [];
  let at = 0;
  for (; at < argv.length && argv[at]!.startsWith('-'); at++) {
    const flag = argv[at]!;
    if (flag === '--version' || flag === '--help')
      return { globals: [], verb: flag.slice(2), args: argv.slice(at + 1) };
    if (plainGlobals.has(flag)) globals.push(flag);
    else if (boxedGlobals.has(flag) && at + 1 < argv.length) globals.push(flag, argv[++at]!);
    else throw new Refusal(`'git ${flag}' could take git out of the workspace's own repository`);
  }
  const verb = argv[at];
  if (verb === undefined) throw new Refusal('there is no git command to run');
  if (!localVerbs.has(verb) && !remoteVerbs.has(verb)) {
    throw new Refusal(
      verb === 'clone'
        ? cloneHint
        : `'git ${verb}' is not a command that the guard knows (aliases are not followed)`,
    );
  }
  const boxed = globals.find((flag) => boxedGlobals.has(flag));
  if (remoteVerbs.has(verb) && boxed !== undefined) {
    throw new Refusal(`'git ${boxed}' is not taken with '${verb}'; call it in the folder that is meant`);
  }
  return { globals, verb, args: argv.slice(at + 1) };
}

const cloneHint = "'git clone' needs a remote that is not pinned; the operator can clone into the workspace";
