import { below, words, type BuiltIn } from './grammar.ts';

/** parse-options: clusters, attached or detached required values, optional values attached only, permutation. */
export const git: BuiltIn = {
  subcommands: [
    ...words(`
      add am apply archive blame branch checkout cherry cherry-pick clean clone commit config describe
      diff fetch format-patch gc grep init log ls-files ls-remote ls-tree merge mv pull push rebase
      reset restore revert rm show shortlog status switch tag fsck rev-parse rev-list cat-file
      hash-object
    `),
    ...below('remote', 'add rename rm remove set-head set-branches get-url set-url show prune update'),
    ...below('stash', 'list show drop pop apply branch push save clear create store export import'),
    ...below(
      'submodule',
      'add status init deinit update set-branch set-url summary foreach sync absorbgitdirs',
    ),
    ...below('worktree', 'add list lock move prune remove repair unlock'),
    ...below('bisect', 'start bad new good old terms skip next reset visualize view replay log run help'),
    ...below('notes', 'list add copy append edit show merge remove prune get-ref'),
    ...below('reflog', 'show list expire delete drop exists write'),
    ...below('bundle', 'create verify list-heads unbundle'),
    ...below('sparse-checkout', 'list set add reapply disable init check-rules clean'),
    ...below('maintenance', 'run start stop register unregister is-needed'),
    ...below('commit-graph', 'verify write'),
    ...below('multi-pack-index', 'write verify expire repack'),
    ...below(
      'lfs',
      'install uninstall track untrack fetch pull push checkout ls-files prune status lock unlock',
    ),
    ...below('credential', 'fill approve reject'),
    ...below('hook', 'run list'),
    ...below('refs', 'migrate verify list exists optimize'),
  ],
  valueFlags: {
    commit: words('-m --message -F --file -C -c --author --date -t --template --trailer'),
    push: words('--repo --receive-pack --exec -o --push-option'),
    fetch: words('--upload-pack --depth --deepen --refmap -j --jobs -o --server-option'),
    'ls-remote': words('--upload-pack --exec -o --server-option --sort'),
    log: words('-n --max-count --skip --grep --author --committer --since --until -S -G -L'),
    grep: words('-e -f --max-depth -A -B -C -m --max-count --threads'),
    checkout: words('-b -B --orphan --pathspec-from-file'),
    switch: words('-c -C --create --force-create --orphan'),
    tag: words('-m --message -F --file -u --local-user --sort --points-at --cleanup'),
    merge: words('-m -F --file -s --strategy -X --strategy-option --into-name --cleanup'),
    clone: words('-b --branch -o --origin -u --upload-pack --depth -c --config --reference'),
    rebase: words('--onto -x --exec -s --strategy -X --strategy-option -C'),
  },
};
