/** The rules' own examples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcome, policyOf, problemsOf } from './support.ts';

const push = {
  subcommand: 'push',
  flags: ['-u'],
  args: [{ enum: ['origin'] }, { pattern: '[a-z]+' }],
} as const;

void test('right examples load', () => {
  policyOf({
    git: {
      allow: [
        {
          ...push,
          match: ['push -u origin main', ['push', 'origin', 'main']],
          not_match: ['push --force origin main', 'push origin  main'],
        },
      ],
      deny: [
        { subcommand: 'push', flags: ['--mirror'], match: ['push --mir'], not_match: ['push origin main'] },
      ],
    },
  });
});

void test('wrong ones are problems that say why', () => {
  assert.deepEqual(
    problemsOf({
      git: {
        allow: [
          {
            ...push,
            match: ['push origin main x', 'push origin dev'],
            not_match: ['push origin main', 'pull'],
          },
        ],
        deny: [
          { subcommand: 'push', args_pattern: 'dev', match: ['push origin main'], not_match: ['push dev'] },
        ],
      },
    }),
    [
      "tools.git.allow.0.match.0: the rule does not allow its example \"push origin main x\": argument 'x' is more than 'git push' takes",
      "tools.git.allow.0.match.1: the rule does not allow its example \"push origin dev\": a deny rule for 'git push' refuses 'dev'",
      'tools.git.allow.0.not_match.0: the rule allows its example "push origin main"',
      'tools.git.deny.0.match.0: the rule does not deny its example "push origin main"',
      'tools.git.deny.0.not_match.0: the rule denies its example "push dev"',
    ],
  );
});

void test('an example is the rule’s own: another rule that allows it does not count', () => {
  assert.deepEqual(
    problemsOf({
      git: { allow: [push, { subcommand: 'push', args: [{ enum: ['up'] }], match: ['push origin main'] }] },
    }),
    [
      "tools.git.allow.1.match.0: the rule does not allow its example \"push origin main\": argument 'origin' is not allowed for 'git push': not one of up",
    ],
  );
});

void test('rules of one subcommand agree on what takes the next word', () => {
  const value = (kind: 'none' | 'required') => ({ '--when': { value: kind, short: '-w' } }) as const;
  assert.deepEqual(
    problemsOf({
      git: {
        allow: [
          { subcommand: 'x', flags: ['--when'], flag_constraints: value('required') },
          { subcommand: 'y', flags: ['--when'], flag_constraints: value('none') },
          { subcommand: 'x', flags: ['--when'], flag_constraints: value('none') },
        ],
      },
    }),
    [
      'tools.git.allow.2.flag_constraints.--when: "--when" is value: none here and value: required in another rule of this subcommand',
      'tools.git.allow.2.flag_constraints.--when: "-w" is value: none here and value: required in another rule of this subcommand',
    ],
  );
  for (const order of [1, -1]) {
    const rules = [
      { subcommand: 'x', flags: ['--when'], flag_constraints: value('required'), args: [{ enum: ['a'] }] },
      { subcommand: 'x', flags: ['--when'], args: [{ enum: ['b'] }] },
    ];
    const policy = policyOf({ git: { allow: order === 1 ? rules : rules.toReversed() } });
    assert.equal(outcome(policy, ['git', 'x', '--when', 'b']), 'arg_missing');
    assert.deepEqual(outcome(policy, ['git', 'x', '--when=now', 'b']), ['x', '--when=now', 'b']);
  }
});
