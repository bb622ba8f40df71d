/** The rules' own examples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide, outcome, policyOf, problemsOf } from './support.ts';

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

void test('rules that say the same share what is compiled, each with its own place and refusals', () => {
  const rule = (subcommand: string) => ({ subcommand, flags: ['--name'], args: [{ enum: ['a'] }] });
  const policy = policyOf({ one: { allow: [rule('x'), rule('y')] }, two: { allow: [rule('x')] } });
  const at = (tool: string, word: string) => policy.tools.get(tool)?.root.next.get(word)?.allow[0];
  const all = [at('one', 'x'), at('one', 'y'), at('two', 'x')];
  assert.equal(new Set(all.map((one) => one?.terms)).size, 1);
  assert.equal(new Set(all).size, 3);
  for (const [tool, word] of [
    ['one', 'y'],
    ['two', 'x'],
  ] as const) {
    const decision = decide(policy, [tool, word, 'b']);
    assert.ok(decision.decision === 'deny');
    assert.match(decision.detail, new RegExp(`for '${tool} ${word}'`));
    assert.equal(decision.rule, at(tool, word)?.ref);
  }
});

void test('what the CLI reads otherwise is not shared', () => {
  // `cargo run` ends the options at the first positional.
  const rule = (subcommand: string) => ({ subcommand, flags: ['--bin', '-v'], args: [{ enum: ['a'] }] });
  const policy = policyOf({ cargo: { allow: [rule('run'), rule('tree')] } });
  assert.deepEqual(outcome(policy, ['cargo', 'tree', 'a', '-v']), ['tree', '-v', 'a']);
  assert.equal(outcome(policy, ['cargo', 'run', 'a', '-v']), 'arg_not_allowed');
});

void test('a rule is not changed by what another one of another subcommand says', () => {
  const rule = { flags: ['--when'], args: [{ enum: ['b'] }] };
  const required = { '--when': { value: 'required' } } as const;
  const strict = { subcommand: 'x', flags: ['--when'], flag_constraints: required, args: [{ enum: ['c'] }] };
  const policy = policyOf({
    tool: { allow: [{ subcommand: 'y', ...rule }, { subcommand: 'x', ...rule }, strict] },
  });
  assert.deepEqual(outcome(policy, ['tool', 'y', '--when', 'b']), ['y', '--when', 'b']);
  assert.equal(outcome(policy, ['tool', 'x', '--when', 'b']), 'arg_missing');
});

void test('what is wrong with a rule is told at each place where it is written', () => {
  const rule = (subcommand: string) => ({ subcommand, args: [{ pattern: '(a+)+b' }] });
  const problems = problemsOf({ tool: { allow: [rule('x'), rule('y')] } });
  assert.deepEqual(
    problems.map((problem) => problem.split(': ')[0]),
    ['tools.tool.allow.0.args.0.pattern', 'tools.tool.allow.1.args.0.pattern'],
  );
});
