import type { BuiltIn } from './grammar.ts';

/** The flag package again; `-chdir` and every optional value only attached. */
export const terraform: BuiltIn = {
  options: 'single-dash',
  longValues: 'attached',
  subcommands: [
    ...[
      'apply',
      'console',
      'destroy',
      'fmt',
      'force-unlock',
      'get',
      'graph',
      'import',
      'init',
      'login',
      'logout',
    ],
    ...[
      'modules',
      'output',
      'plan',
      'query',
      'refresh',
      'show',
      'taint',
      'test',
      'untaint',
      'validate',
      'version',
    ],
    ...['list', 'mv', 'pull', 'push', 'replace-provider', 'rm', 'show', 'identities'].map(
      (word) => `state ${word}`,
    ),
    ...['delete', 'list', 'new', 'select', 'show'].map((word) => `workspace ${word}`),
    ...['lock', 'mirror', 'schema'].map((word) => `providers ${word}`),
    ...['functions'].map((word) => `metadata ${word}`),
    ...['delete', 'list', 'new', 'select', 'show'].map((word) => `env ${word}`),
  ],
  valueFlags: {
    '': [
      ...[
        '-var',
        '-var-file',
        '-target',
        '-replace',
        '-out',
        '-state',
        '-state-out',
        '-backup',
        '-parallelism',
      ],
      ...[
        '-lock-timeout',
        '-backend-config',
        '-plugin-dir',
        '-generate-config-out',
        '-from-module',
        '-chdir',
      ],
    ],
  },
};
