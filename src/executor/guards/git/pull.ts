/** `git pull`: the guard's fetch, then the box merges or rebases what it brought. */
import { runBox, type Context } from './box.ts';
import { bring } from './fetch.ts';
import { parseOptions, type OptionTable } from './options.ts';
import { parseRefspec, shortName } from './refs.ts';
import { Ended, Refusal } from './refusal.ts';
import { pinnedRemote, type Pinned } from './remotes.ts';

const plain = (name: string) => ({ name });
/** Handed on to the confined half. */
const merging = [
  ...[
    '--ff',
    '--ff-only',
    '--no-ff',
    '--no-rebase',
    '--commit',
    '--no-commit',
    '--squash',
    '--no-squash',
    '--edit',
  ],
  ...[
    '--no-edit',
    '--autostash',
    '--no-autostash',
    '--stat',
    '--no-stat',
    '-n',
    '--no-verify',
    '--verify',
    '--signoff',
  ],
  ...[
    '--no-signoff',
    '--log',
    '--no-log',
    '--allow-unrelated-histories',
    '--no-gpg-sign',
    '--summary',
    '--no-summary',
  ],
];
const table: OptionTable = {
  ...Object.fromEntries(merging.map((flag) => [flag, plain(flag)])),
  '--rebase': { name: '--rebase', value: 'optional' },
  '-r': { name: '--rebase' },
  '--strategy': { name: '--strategy', value: 'required' },
  '-s': { name: '--strategy', value: 'required' },
  '--strategy-option': { name: '--strategy-option', value: 'required' },
  '-X': { name: '--strategy-option', value: 'required' },
  '--quiet': plain('quiet'),
  '-q': plain('quiet'),
  '--verbose': plain('verbose'),
  '-v': plain('verbose'),
  '--prune': plain('prune'),
  '-p': plain('prune'),
  '--tags': plain('tags'),
  '-t': plain('tags'),
  '--no-tags': plain('no-tags'),
  '--progress': plain('nothing'),
  '--no-progress': plain('nothing'),
  '--no-recurse-submodules': plain('nothing'),
};

/** Runs `git pull ARGS`. @returns the exit code of git. */
export async function pull(context: Context, args: readonly string[]): Promise<number> {
  const { flags, all, positionals } = parseOptions('pull', args, table);
  const [name, ...refspecs] = positionals;
  if (refspecs.length > 1)
    throw new Refusal("'git pull' of several branches at once is not carried over; pull one");
  if (refspecs.some((text) => parseRefspec(text).target !== null)) {
    throw new Refusal("'git pull' takes a plain branch here; fetch into another name first");
  }
  const remote = pinnedRemote(name, context.call.guardOptions.remotes);
  const { exitCode, facts, asked } = await bring(context, {
    remote,
    refspecs,
    tags: flags.has('tags') ? 'all' : flags.has('no-tags') ? 'none' : 'follow',
    prune: flags.has('prune'),
    force: false,
    dryRun: false,
    quiet: flags.has('quiet'),
    verbose: flags.has('verbose'),
    fetchHead: true,
  });
  if (exitCode !== 0) return exitCode;
  const target = asked[0];
  if (target === undefined) {
    const branch =
      facts.head === null
        ? 'You are not currently on a branch.'
        : 'There is no tracking information for the current branch.';
    context.host.write(
      'stderr',
      `${branch}\nPlease specify which branch you want to merge with.\n\n    git pull ${remote.name} <branch>\n\n`,
    );
    throw new Ended({ exitCode: 1, signal: null });
  }
  const words = [...all]
    .filter(([flag]) => flag.startsWith('-'))
    .flatMap(([flag, values]) => values.map((value) => (value === true ? flag : `${flag}=${value}`)));
  return merge(context, [...words, ...(flags.has('quiet') ? ['--quiet'] : [])], target, remote);
}

/** Real `git pull`, of what was delivered: it knows how to reconcile, and when to ask. */
async function merge(
  context: Context,
  words: readonly string[],
  target: { readonly name: string; readonly id: string },
  remote: Pinned,
): Promise<number> {
  const kept = target.name.startsWith('refs/tags/') || !target.name.startsWith('refs/heads/');
  const local = kept
    ? `refs/pulled/${shortName(target.name)}`
    : target.name.replace('refs/heads/', `refs/remotes/${remote.name}/`);
  const command = [
    '/bin/sh',
    '-c',
    mergeScript,
    'pull',
    context.call.binary.path,
    target.id,
    local,
    ...words,
  ];
  const result = await runBox(context, command);
  // The local half says "From ." and what it took from there; the real one was said before.
  context.host.write('stdout', result.stdout.toString('utf8'));
  context.host.write('stderr', result.stderr.toString('utf8').replace(/^From \.\n(?: \* .*\n)+/m, ''));
  return result.exitCode!;
}

// Arguments: git, the object, the ref that has it (refs/pulled/… for this call only), then the words for pull.
const mergeScript = String.raw`
git=$1 id=$2 ref=$3; shift 3
case $ref in refs/pulled/*) "$git" update-ref "$ref" "$id" || exit $? ;; esac
"$git" pull --no-tags --no-recurse-submodules "$@" . "$ref"
code=$?
case $ref in refs/pulled/*) "$git" update-ref -d "$ref" ;; esac
exit $code
`;
