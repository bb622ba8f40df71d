/** The order of judgement, deny rules, several rules, and what never depends on the rest. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluate } from '../../src/policy/evaluate.ts';
import { nearestAllowed } from '../../src/policy/nearest.ts';
import type { Call, CwdVerdict } from '../../src/policy/types.ts';
import { decide, outcome, policyOf } from './support.ts';

const policy = policyOf({
  git: {
    global_flags: ['--no-pager'],
    allow: [
      {
        subcommand: 'push',
        flags: ['--tag', '--need'],
        flag_constraints: {
          '--tag': { short: '-t', value: 'required', enum: ['v1'] },
          '--need': { value: 'none', required: true },
        },
        args: [{ enum: ['origin'] }, { enum: ['main'] }],
      },
    ],
    deny: [{ subcommand: 'push', flags: ['--force'], args_pattern: '\\+.*' }],
  },
  empty: { allow: [] },
  denied: { deny: [{ subcommand: 'x' }] },
});
const away: CwdVerdict = { ok: false, code: 'cwd_outside_roots', detail: 'elsewhere' };

void describe('the first stage that refuses answers', () => {
  const rows: readonly (readonly [string, unknown, CwdVerdict | undefined, string])[] = [
    ['a call that is none, before its tool', { tool: 'nope', argv: [1] }, away, 'request_malformed'],
    ['the tool, before the cwd', { tool: 'nope', argv: ['\0'] }, away, 'tool_not_allowed'],
    ['a tool without rules, before the cwd', { tool: 'empty', argv: [] }, away, 'no_allow_rules'],
    ['a tool with deny rules only', { tool: 'denied', argv: ['x'] }, undefined, 'no_allow_rules'],
    ['the cwd, before the form of strings', { tool: 'git', argv: ['\0'] }, away, 'cwd_outside_roots'],
    [
      'the form of strings, before global flags',
      { tool: 'git', argv: ['-c', 'push', '\0'] },
      undefined,
      'argument_malformed',
    ],
    [
      'global flags, before deny rules',
      { tool: 'git', argv: ['-c', 'push', '--force'] },
      undefined,
      'global_flag_not_allowed',
    ],
    [
      'deny rules, before flags',
      { tool: 'git', argv: ['push', '--nope', '--force'] },
      undefined,
      'denied_by_rule',
    ],
    [
      'deny rules, before hidden characters',
      { tool: 'git', argv: ['push', '\u202e', '--force'] },
      undefined,
      'denied_by_rule',
    ],
    [
      'the subcommand, before its words',
      { tool: 'git', argv: ['pull', '--nope'] },
      undefined,
      'subcommand_not_allowed',
    ],
    [
      'flags from the left',
      { tool: 'git', argv: ['push', '--tag=x', '--nope'] },
      undefined,
      'flag_value_not_allowed',
    ],
    [
      'repetition before value',
      { tool: 'git', argv: ['push', '--tag=v1', '--tag=x'] },
      undefined,
      'flag_repeated',
    ],
    [
      'flags, before positionals',
      { tool: 'git', argv: ['push', 'nope', '--nope'] },
      undefined,
      'flag_not_allowed',
    ],
    [
      'positionals from the left',
      { tool: 'git', argv: ['push', 'origin', 'nope', 'x'] },
      undefined,
      'arg_not_allowed',
    ],
    [
      'hidden characters at their place',
      { tool: 'git', argv: ['push', 'nope', '\u202e'] },
      undefined,
      'arg_not_allowed',
    ],
    [
      'missing positionals, before required flags',
      { tool: 'git', argv: ['push', 'origin'] },
      undefined,
      'arg_missing',
    ],
    ['required flags last', { tool: 'git', argv: ['push', 'origin', 'main'] }, undefined, 'flag_required'],
  ];
  for (const [sentence, call, cwd, reason] of rows)
    test(sentence, () => {
      const decision = evaluate(policy, call as Call, cwd);
      assert.equal(decision.decision === 'deny' ? decision.reason : 'allow', reason);
    });
});

void describe('strings', () => {
  const wide = policyOf({ tool: { allow: [{ args: 'any' }] } });
  const rows: readonly (readonly [string, readonly unknown[], readonly string[] | string])[] = [
    ['a lone surrogate', ['\ud800'], 'argument_malformed'],
    ['32 KiB are taken', ['x'.repeat(32 * 1024)], ['x'.repeat(32 * 1024)]],
    ['one byte more is not', ['x'.repeat(32 * 1024 + 1)], 'argument_malformed'],
    ['bytes count, not characters', ['é'.repeat(16 * 1024 + 1)], 'argument_malformed'],
    ['256 KiB in all', Array.from({ length: 9 }, () => 'x'.repeat(32_000)), 'argument_malformed'],
    ['1,024 of them', Array.from({ length: 1024 }, () => 'x'), Array.from({ length: 1024 }, () => 'x')],
    ['not 1,025', Array.from({ length: 1025 }, () => 'x'), 'argument_malformed'],
    ['a number', [5], 'request_malformed'],
    ['a null', [null], 'request_malformed'],
  ];
  for (const [sentence, argv, expected] of rows)
    test(sentence, () => assert.deepEqual(outcome(wide, ['tool', ...argv]), expected));
  test('a hole', () => {
    const argv: string[] = [];
    argv[1] = 'x';
    const decision = evaluate(wide, { tool: 'tool', argv });
    assert.equal(decision.decision === 'deny' && decision.reason, 'request_malformed');
  });
  test('an argv that is no list', () => {
    const decision = evaluate(wide, { tool: 'tool', argv: 'x' } as unknown as Call);
    assert.equal(decision.decision === 'deny' && decision.reason, 'request_malformed');
  });
});

void describe('deny rules over-approximate', () => {
  const broad = policyOf({
    git: {
      allow: [
        { subcommand: 'push', flags: 'any', args: 'any', end_of_options: true },
        { subcommand: 'stash', flags: 'any', args: 'any' },
        {
          subcommand: 'commit',
          flags: ['-m', '-x'],
          flag_constraints: { '-m': { value: 'required' } },
          rest: 'any',
        },
      ],
      deny: [
        { subcommand: 'push', flags: ['--force-with-lease', '-d', '--dry_run'], args_pattern: '.*:.*' },
        { subcommand: 'stash drop' },
        { subcommand: 'commit', args_pattern: '.*:.*' },
      ],
    },
    go: {
      allow: [{ subcommand: 'build', flags: 'any', args: 'any' }],
      deny: [{ subcommand: 'build', flags: ['-toolexec'] }],
    },
    npm: {
      global_flags: ['--script-shell=x', '--silent'],
      allow: [{ subcommand: 'test', flags: 'any' }],
      deny: [{ flags: ['--script-shell'] }],
    },
  });
  const rows: readonly (readonly [string, readonly string[], readonly string[] | string])[] = [
    ['a prefix of a long flag', ['git', 'push', '--forc'], 'denied_by_rule'],
    ['with a value', ['git', 'push', '--force-with=x'], 'denied_by_rule'],
    ['another flag passes', ['git', 'push', '--follow-tags'], ['push', '--follow-tags']],
    [
      'a longer name is another flag',
      ['git', 'push', '--force-with-lease-x'],
      ['push', '--force-with-lease-x'],
    ],
    ['a letter in a cluster', ['git', 'push', '-nd'], 'denied_by_rule'],
    ['a letter behind what may be a value', ['git', 'push', '-old'], 'denied_by_rule'],
    ['underscores are dashes', ['git', 'push', '--force_with'], 'denied_by_rule'],
    ['on both sides', ['git', 'push', '--dry-run'], 'denied_by_rule'],
    ['a positional', ['git', 'push', 'a:b'], 'denied_by_rule'],
    ['a positional after --', ['git', 'push', '--', '-a:b'], 'denied_by_rule'],
    ['over lines', ['git', 'push', 'a\n:b'], 'denied_by_rule'],
    ['everything below a path', ['git', 'stash', 'drop', 'x'], 'denied_by_rule'],
    ['a flag between its words', ['git', 'stash', '-q', 'drop'], 'denied_by_rule'],
    ['another path passes', ['git', 'stash', '-q'], ['stash', '-q']],
    [
      'what every rule reads as a value is no positional',
      ['git', 'commit', '-m', 'fix: x'],
      ['commit', '-m', 'fix: x'],
    ],
    ['what only looks like one is', ['git', 'commit', '-x', 'fix: x'], 'denied_by_rule'],
    ['single dash: two dashes', ['go', 'build', '--toolexec=x'], 'denied_by_rule'],
    ['single dash: a prefix', ['go', 'build', '-toole'], 'denied_by_rule'],
    ['npm: one dash', ['npm', 'test', '-script-shell=x'], 'denied_by_rule'],
    ['npm: three dashes and an abbreviation', ['npm', 'test', '---scri'], 'denied_by_rule'],
    ['before the subcommand', ['npm', '--script-shell=x', 'test'], 'denied_by_rule'],
    ['another one before the subcommand', ['npm', '--silent', 'test'], ['--silent', 'test']],
  ];
  for (const [sentence, call, expected] of rows)
    test(sentence, () => assert.deepEqual(outcome(broad, call), expected));

  test('a denied flag is denied under both of its names', () => {
    const short = {
      '--all': { short: '-a', value: 'none' },
      '--name': { short: '-n', value: 'required' },
    } as const;
    const aliased = policyOf({
      git: {
        allow: [{ subcommand: 'add', flags: ['--all', '--name'], flag_constraints: short }],
        deny: [{ subcommand: 'add', flags: ['--all', '-n'] }],
      },
    });
    for (const words of [['-a'], ['-an', 'x'], ['--all'], ['-nx'], ['--name=x'], ['--na', 'x']])
      assert.equal(outcome(aliased, ['git', 'add', ...words]), 'denied_by_rule', words.join(' '));
  });

  test('flags: any keeps the order, since nobody knows which word is a value', () => {
    assert.deepEqual(outcome(broad, ['git', 'push', 'origin', '-o', 'ci', 'main', '-q']), [
      ...['push', 'origin', '-o', 'ci', 'main', '-q'],
    ]);
  });
});

void describe('several rules for one subcommand', () => {
  const several = policyOf({
    tool: {
      allow: [
        { subcommand: 'do', flags: ['-a'], args: [{ enum: ['x'] }] },
        { subcommand: 'do', flags: ['-b'], args: [{ enum: ['y'] }], read_only: true },
      ],
    },
  });
  test('one must be satisfied whole', () => {
    assert.deepEqual(outcome(several, ['tool', 'do', '-a', 'x']), ['do', '-a', 'x']);
    assert.deepEqual(outcome(several, ['tool', 'do', '-b', 'y']), ['do', '-b', 'y']);
    assert.equal(outcome(several, ['tool', 'do', '-a', 'y']), 'arg_not_allowed');
    assert.equal(outcome(several, ['tool', 'do', '-a', '-b', 'x']), 'flag_not_allowed');
  });
  test('the denial is that of the rule that got furthest', () => {
    const decision = decide(several, ['tool', 'do', '-b', 'x']);
    assert.deepEqual(decision.decision === 'deny' && decision.allowedFlags, ['-b']);
  });
});

void describe('the bare tool', () => {
  const bare = policyOf({
    tool: {
      global_flags: ['-g'],
      allow: [
        { flags: ['-v', '-g'], rest: 'any' },
        { subcommand: 'sub', rest: 'any' },
      ],
    },
  });
  const rows: readonly (readonly [string, readonly string[], readonly string[] | string])[] = [
    ['all that follows is its own', ['tool', '-v', 'x'], ['-v', 'x']],
    ['a known subcommand is not', ['tool', 'sub', 'x'], ['sub', 'x']],
    ['also after global flags', ['tool', '-g', 'sub'], ['-g', 'sub']],
    ['never an argument', ['tool', '-v', 'sub'], 'arg_not_allowed'],
    ['nothing at all', ['tool'], []],
  ];
  for (const [sentence, call, expected] of rows)
    test(sentence, () => assert.deepEqual(outcome(bare, call), expected));
});

void test('words are compared as they are', () => {
  for (const word of [
    'Push',
    'push ',
    ' push',
    'pus',
    'pushh',
    'ｐush',
    '/push',
    '',
    'constructor',
    '__proto__',
    'toString',
  ])
    assert.equal(outcome(policy, ['git', word]), 'subcommand_not_allowed', word);
  for (const tool of ['Git', '/usr/bin/git', './git', 'git ', 'gıt', '', 'constructor', '__proto__', 'g\0'])
    assert.equal(outcome(policy, [tool, 'push']), 'tool_not_allowed', tool);
});

void test('nearest_allowed is itself allowed', () => {
  const cases: readonly (readonly [readonly string[], readonly string[] | null])[] = [
    [
      ['push', '--need', '--nope', 'origin', 'main'],
      ['push', '--need', 'origin', 'main'],
    ],
    [
      ['push', '--neeed', 'origin', 'main'],
      ['push', '--need', 'origin', 'main'],
    ],
    [
      ['push', 'origin', 'main'],
      ['push', '--need', 'origin', 'main'],
    ],
    [
      ['psuh', '--need', 'origin', 'main'],
      ['push', '--need', 'origin', 'main'],
    ],
    [
      ['push', '--need', '--tag', 'x', 'origin', 'main'],
      ['push', '--need', 'origin', 'main'],
    ],
    [['pull'], null],
  ];
  for (const [argv, expected] of cases) {
    const decision = evaluate(policy, { tool: 'git', argv });
    assert.deepEqual(
      decision.decision === 'deny' && nearestAllowed(policy, decision),
      expected,
      argv.join(' '),
    );
  }
});
