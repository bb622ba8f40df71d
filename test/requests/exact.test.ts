/** A refused call read as a rule: whatever is read, the rule allows that call, and no other. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseConfig } from '../../src/config/load.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { planChange, type Ground } from '../../src/requests/change.ts';
import { exactRule } from '../../src/requests/exact.ts';

const env = { HOME: '/home/op' };
const ground = (tools: string): Ground => ({
  snapshot: parseConfig(Buffer.from(`version: 1\ntools:\n${tools}`), {
    file: '/c.yaml',
    real: '/c.yaml',
    env,
  }),
  env,
});
const git = ground(`  git:
    binary: /usr/bin/git
    global_flags: [--no-pager]
    allow:
      - subcommand: log
        flags: [--oneline, --max-count, --color]
        flag_constraints:
          --max-count: { short: -n, value: required, type: int }
          --color: { value: optional, enum: [auto] }
  own:
    binary: /usr/bin/true
    guard: none
`);

type Exact = ReturnType<typeof exactRule>;
const table: readonly [sentence: string, tool: string, path: string[], argv: string[], rule: Exact][] = [
  [
    'the next word is the value of a flag that a rule knows to take one',
    'git',
    ['log'],
    ['log', '--max-count', '3', '--stat', 'main'],
    {
      tool: 'git',
      subcommand: 'log',
      flags: ['--max-count', '--stat'],
      exact: { values: { '--max-count': ['3'] }, args: ['main'], detached: ['--max-count'] },
    },
  ],
  [
    'its short form, attached, and in a cluster',
    'git',
    ['log'],
    ['log', '-n3', '-pn', '4'],
    {
      tool: 'git',
      subcommand: 'log',
      flags: ['-n', '-p'],
      exact: { values: { '-n': ['3', '4'] }, args: [], repeat: ['-n'], detached: ['-n'] },
    },
  ],
  [
    'a value that may be left out stays one that may',
    'git',
    ['log'],
    ['log', '--color=always'],
    {
      tool: 'git',
      subcommand: 'log',
      flags: ['--color'],
      exact: { values: { '--color': ['always'] }, args: [], optional: ['--color'] },
    },
  ],
  [
    'global flags before the subcommand are not the rule’s',
    'git',
    ['log'],
    ['--no-pager', 'log', '--stat'],
    { tool: 'git', subcommand: 'log', flags: ['--stat'], exact: { values: {}, args: [] } },
  ],
  ['another subcommand is no rule', 'git', ['log'], ['push', '--force'], null],
  [
    'a tool without rules: its words are positionals of the bare tool',
    'own',
    [],
    ['-x', 'pr', 'list'],
    { tool: 'own', subcommand: null, flags: ['-x'], exact: { values: {}, args: ['pr', 'list'] } },
  ],
  [
    'or a subcommand, where the agent says so',
    'own',
    ['pr', 'list'],
    ['pr', 'list', '--', '-x'],
    { tool: 'own', subcommand: 'pr list', flags: [], exact: { values: {}, args: ['-x'], end: true } },
  ],
];

void describe('reads', () => {
  for (const [sentence, tool, path, argv, rule] of table)
    test(sentence, () => assert.deepEqual(exactRule(git.snapshot.policy, tool, path, argv), rule));
});

test('a flag of the call that is left out makes another call: what was approved as a rehearsal is not the deed', () => {
  for (const [argv, less] of [
    [
      ['push', '--dry-run', 'origin', 'main'],
      ['push', 'origin', 'main'],
    ],
    [
      ['push', '--push-option=ci.skip', 'origin'],
      ['push', 'origin'],
    ],
    [['-x'], []],
  ] as const) {
    const subcommand = argv[0] === 'push' ? ['push'] : [];
    const asked = { tool: 'own', subcommand, flags: [], args: null, argv };
    const change = planChange(git, asked, false);
    assert.ok(change.ok && change.met);
    assert.equal(evaluate(change.policy, { tool: 'own', argv }).decision, 'allow');
    const decision = evaluate(change.policy, { tool: 'own', argv: less });
    assert.equal(decision.decision === 'deny' && decision.reason, 'flag_required', less.join(' '));
  }
});

test('what a rule cannot say as narrowly as the call is said to whoever approves it', () => {
  const asked = { tool: 'git', subcommand: ['log'], flags: [], args: null };
  const change = planChange(
    git,
    { ...asked, argv: ['log', '--color=always', '-n3', '-n4', '--', 'a'] },
    false,
  );
  assert.ok(change.ok);
  assert.deepEqual(change.edited.notes, [
    '--color: allowed without its value, too',
    '-n: allowed once or often, with any of its values',
    '"--": allowed with it and without',
  ]);
});

test('whatever the call, the rule allows it in the form that runs, and refuses it with one word changed or more', () => {
  const word = fc.constantFrom('main', 'a b', 'x=1', "it's", '#5', '007', 'on', '~', 'é', '{a}', '*');
  const flag = fc.constantFrom(
    '--stat',
    '--stat=3',
    '--oneline',
    '-p',
    '-pq',
    '--color=auto',
    '-n3',
    '--max-count=9',
  );
  const argv = fc.array(fc.oneof(word, flag), { maxLength: 6 });
  fc.assert(
    fc.property(argv, fc.nat(), (rest, at) => {
      const call = { tool: 'git', argv: ['log', ...rest] };
      const asked = { tool: 'git', subcommand: ['log'], flags: [], args: null, argv: call.argv };
      const change = planChange(git, asked, false);
      if (!change.ok) return;
      const decision = evaluate(change.policy, call);
      assert.equal(decision.decision, 'allow');
      const before = evaluate(git.snapshot.policy, call);
      if (before.decision === 'allow') return;
      const other = { tool: 'git', argv: [...call.argv, 'another'] };
      assert.equal(evaluate(change.policy, other).decision, evaluate(git.snapshot.policy, other).decision);
      const changed = { tool: 'git', argv: call.argv.with(1 + (at % Math.max(1, rest.length)), 'changed') };
      if (rest.length > 0 && rest[at % rest.length]?.startsWith('-') === false)
        assert.equal(evaluate(change.policy, changed).decision, 'deny');
      const bare = { tool: 'git', argv: call.argv.filter((token) => !token.startsWith('-')) };
      if (bare.argv.length < call.argv.length)
        assert.equal(evaluate(change.policy, bare).decision, evaluate(git.snapshot.policy, bare).decision);
    }),
    { numRuns: 500 },
  );
});
