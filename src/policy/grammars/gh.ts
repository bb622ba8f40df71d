import type { BuiltIn } from './grammar.ts';

/** cobra and pflag: clusters, `-xVALUE`, `-x=VALUE`, permutation, no abbreviation; groups and their aliases. */
export const gh: BuiltIn = {
  subcommands: [
    ...words(
      'pr',
      'create new list ls status checkout checks close comment diff edit lock merge ready reopen revert',
    ),
    ...words('pr', 'review unlock update-branch view'),
    ...words(
      'issue',
      'create new list ls status close comment delete develop edit lock pin reopen transfer unlock',
    ),
    ...words('issue', 'unpin view'),
    ...words(
      'repo',
      'create new list ls archive clone delete edit fork rename set-default sync unarchive view',
    ),
    ...words('repo', 'autolink deploy-key gitignore license'),
    ...words('run', 'cancel delete download list ls rerun view watch'),
    ...words('workflow', 'disable enable list ls run view'),
    ...words(
      'release',
      'create new list ls delete delete-asset download edit upload verify verify-asset view',
    ),
    ...words('auth', 'login logout refresh setup-git status switch token'),
    ...words('config', 'clear-cache get list ls set'),
    ...words('alias', 'delete import list ls set'),
    ...words('extension', 'browse create exec install list ls remove search upgrade'),
    ...words('extensions', 'browse create exec install list ls remove search upgrade'),
    ...words('ext', 'browse create exec install list ls remove search upgrade'),
    ...words('secret', 'delete remove list ls set'),
    ...words('variable', 'delete remove get list ls set'),
    ...words('cache', 'delete list ls'),
    ...words('codespace', 'code cp create delete edit jupyter list logs ports rebuild ssh stop view'),
    ...words('cs', 'code cp create delete edit jupyter list logs ports rebuild ssh stop view'),
    ...words('gist', 'clone create new delete edit list ls rename view'),
    ...words('label', 'clone create delete edit list ls'),
    ...words(
      'project',
      'close copy create delete edit field-create field-delete field-list item-add item-archive',
    ),
    ...words('project', 'item-create item-delete item-edit item-list link list mark-template unlink view'),
    ...words('search', 'code commits issues prs repos'),
    ...words('ssh-key', 'add delete list ls'),
    ...words('gpg-key', 'add delete list ls'),
    ...words('ruleset', 'check list ls view'),
    ...words('attestation', 'download trusted-root verify'),
    ...['api', 'browse', 'completion', 'status', 'org list', 'preview prompter', 'agent-task list'],
  ],
  valueFlags: {
    '': ['-R', '--repo', '--hostname', '-q', '--jq', '--json', '-t', '--template', '-L', '--limit'],
    api: [
      '-X',
      '--method',
      '-f',
      '--raw-field',
      '-F',
      '--field',
      '-H',
      '--header',
      '--input',
      '-p',
      '--preview',
    ],
    'pr create': ['-t', '--title', '-b', '--body', '-F', '--body-file', '-B', '--base', '-H', '--head', '-T'],
    'pr list': [
      '-s',
      '--state',
      '-A',
      '--author',
      '-B',
      '--base',
      '-H',
      '--head',
      '-l',
      '--label',
      '-S',
      '--search',
    ],
    'issue list': ['-s', '--state', '-A', '--author', '-l', '--label', '-S', '--search', '-m', '--milestone'],
  },
};

function words(group: string, list: string): string[] {
  return list.split(' ').map((word) => `${group} ${word}`);
}
