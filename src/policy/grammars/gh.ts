import { below, words, type BuiltIn } from './grammar.ts';

/** cobra and pflag: clusters, `-xVALUE`, `-x=VALUE`, permutation, no abbreviation; groups and their aliases. */
export const gh: BuiltIn = {
  subcommands: [
    ...below(
      'pr',
      `
      create new list ls status checkout checks close comment diff edit lock merge ready reopen
      revert review unlock update-branch view
    `,
    ),
    ...below(
      'issue',
      `
      create new list ls status close comment delete develop edit lock pin reopen transfer unlock
      unpin view
    `,
    ),
    ...below(
      'repo',
      `
      create new list ls archive clone delete edit fork rename set-default sync unarchive view
      autolink deploy-key gitignore license
    `,
    ),
    ...below('run', 'cancel delete download list ls rerun view watch'),
    ...below('workflow', 'disable enable list ls run view'),
    ...below(
      'release',
      'create new list ls delete delete-asset download edit upload verify verify-asset view',
    ),
    ...below('auth', 'login logout refresh setup-git status switch token'),
    ...below('config', 'clear-cache get list ls set'),
    ...below('alias', 'delete import list ls set'),
    ...below('extension', 'browse create exec install list ls remove search upgrade'),
    ...below('extensions', 'browse create exec install list ls remove search upgrade'),
    ...below('ext', 'browse create exec install list ls remove search upgrade'),
    ...below('secret', 'delete remove list ls set'),
    ...below('variable', 'delete remove get list ls set'),
    ...below('cache', 'delete list ls'),
    ...below('codespace', 'code cp create delete edit jupyter list logs ports rebuild ssh stop view'),
    ...below('cs', 'code cp create delete edit jupyter list logs ports rebuild ssh stop view'),
    ...below('gist', 'clone create new delete edit list ls rename view'),
    ...below('label', 'clone create delete edit list ls'),
    ...below(
      'project',
      `
      close copy create delete edit field-create field-delete field-list item-add item-archive
      item-create item-delete item-edit item-list link list mark-template unlink view
    `,
    ),
    ...below('search', 'code commits issues prs repos'),
    ...below('ssh-key', 'add delete list ls'),
    ...below('gpg-key', 'add delete list ls'),
    ...below('ruleset', 'check list ls view'),
    ...below('attestation', 'download trusted-root verify'),
    ...['api', 'browse', 'completion', 'status', 'org list', 'preview prompter', 'agent-task list'],
  ],
  valueFlags: {
    '': words('-R --repo --hostname -q --jq --json -t --template -L --limit'),
    api: words('-X --method -f --raw-field -F --field -H --header --input -p --preview'),
    'pr create': words('-t --title -b --body -F --body-file -B --base -H --head -T'),
    'pr list': words('-s --state -A --author -B --base -H --head -l --label -S --search'),
    'issue list': words('-s --state -A --author -l --label -S --search -m --milestone'),
  },
};
