import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import type { AllowRequest } from '../../src/edit/allow-request.ts';
import { textOf } from '../../src/edit/file.ts';
import { addAllowRule } from '../../src/edit/policy.ts';
import { apply, inverse } from '../../src/edit/splice.ts';
import type { Edited, Outcome, Refusal } from '../../src/edit/types.ts';
import { bytes, index, json, variants } from './corpus.ts';

/** The product’s own loader as the validator. */
function validate(text: string): string | null {
  try {
    parseConfig(Buffer.from(text), { file: 'config.yaml', real: '/config.yaml', env: { HOME: '/root' } });
    return null;
  } catch (error) {
    return (error as { problems: string[] }).problems.find((problem) => problem.includes('example')) ?? null;
  }
}

function edit(content: Buffer, request: AllowRequest): Outcome {
  const text = textOf(content);
  return typeof text === 'string' ? addAllowRule(text, request, { validate }) : text;
}

function place({ code, line, column }: Omit<Refusal, 'ok' | 'why'>): object {
  return { code, line, column };
}

void describe('a capability is written into the config', () => {
  for (const { id, what, kind } of index('yaml')) {
    const before = bytes('yaml', id, 'before.yaml') as Buffer;
    const request = json<AllowRequest>('yaml', id, 'request');
    const after = bytes('yaml', id, 'after.yaml');
    if (after === null) {
      void test(`${id} ${what}`, () => {
        const expected = json<Refusal>('yaml', id, 'refused');
        const outcome = edit(before, request) as Refusal;
        assert.equal(outcome.ok, false);
        const bound =
          'column' in expected || !('line' in expected)
            ? outcome
            : { code: outcome.code, line: outcome.line as number };
        assert.deepEqual(place(bound), place(expected));
      });
      continue;
    }
    for (const { name, of } of variants(before.toString()))
      void test(`${id} ${what}${name}`, () => {
        const text = of(before.toString());
        const outcome = edit(Buffer.from(text), request) as Edited;
        assert.equal(outcome.text, of(after.toString()));
        assert.equal(outcome.changes.length === 0, kind === 'unchanged');
        const body = outcome.text.replace(/^\uFEFF/, '');
        assert.equal(apply(body, inverse(outcome.changes)), text.replace(/^\uFEFF/, ''));
        assert.deepEqual(edit(Buffer.from(outcome.text), request), {
          ok: true,
          text: outcome.text,
          changes: [],
          diff: '',
          notes: ['it is allowed already'],
        });
      });
  }
});

const head = 'version: 1\ntools:\n  git:\n    binary: /usr/bin/git\n';
const push: AllowRequest = { tool: 'git', subcommand: 'push', flags: ['--tags', '--atomic'] };
const bare: AllowRequest = { tool: 'git', subcommand: null, flags: ['--version'] };

const written: readonly { name: string; request?: AllowRequest; before: string; after: string }[] = [
  {
    name: 'two flags follow a comment that belongs to the last one',
    before: 'flags: [\n          --a, # x\n          --b # y\n        ]\n',
    after:
      'flags: [\n          --a, # x\n          --b, # y\n          --tags,\n          --atomic\n        ]\n',
  },
  {
    name: 'a comment behind the last of several on one line stays with it',
    before: 'flags: [--a, --b # c\n               ]\n',
    after: 'flags: [--a, --b, # c\n                --tags, --atomic\n               ]\n',
  },
  {
    name: 'leading commas, the bracket on the last line',
    before: 'flags: [ --a\n               , --b ]\n',
    after: 'flags: [ --a\n               , --b\n               , --tags\n               , --atomic ]\n',
  },
  {
    name: 'a comment line between items is not repeated',
    before: 'flags: [\n          --a,\n          # second\n          --b,\n          # end\n        ]\n',
    after:
      'flags: [\n          --a,\n          # second\n          --b,\n          --tags,\n          --atomic,\n          # end\n        ]\n',
  },
  {
    name: 'an empty list is filled with its space on both sides',
    before: 'flags: [ ] # c\n',
    after: 'flags: [ --tags, --atomic ] # c\n',
  },
  {
    name: 'a list without a value is written before the comment',
    before: 'flags: # c\n',
    after: 'flags: [--tags, --atomic] # c\n',
  },
  { name: 'null gives way', before: 'flags: ~ # c\n', after: 'flags: [--tags, --atomic] # c\n' },
  {
    name: 'a comment behind the dash is not repeated',
    before: 'flags:\n          - # why\n            --a\n',
    after:
      'flags:\n          - # why\n            --a\n          -\n            --tags\n          -\n            --atomic\n',
  },
  {
    name: 'a literal block that keeps its blank lines ends behind them',
    before: 'match:\n          - |+\n            push\n\n\n        flags: [--a]\n',
    after: 'match:\n          - |+\n            push\n\n\n        flags: [--a, --tags, --atomic]\n',
  },
];

void describe('flags are written as their neighbours are', () => {
  for (const { name, before, after } of written)
    void test(name, () => {
      const rule = `${head}    allow:\n      - subcommand: push\n        `;
      assert.equal((addAllowRule(rule + before, push) as Edited).text, rule + after);
    });
});

void describe('a rule of the bare tool', () => {
  const cases = [
    [
      'is added',
      '    allow:\n      - subcommand: push\n',
      '    allow:\n      - subcommand: push\n      - flags: [--version]\n',
    ],
    [
      'gains a flag',
      '    allow:\n      - args: []\n',
      '    allow:\n      - args: []\n        flags: [--version]\n',
    ],
    [
      'that has it is left alone',
      '    allow:\n      - flags: [--version]\n',
      '    allow:\n      - flags: [--version]\n',
    ],
  ] as const;
  for (const [name, before, after] of cases)
    void test(name, () => assert.equal((addAllowRule(head + before, bare) as Edited).text, head + after));
});

void describe('a rule from a refused call is exactly as wide as that call', () => {
  const request: AllowRequest = {
    ...push,
    flags: ['--force', '-o'],
    exact: { values: { '-o': ["it's", 'a, b'] }, args: ['origin', 'main'] },
  };
  const allow = '    allow:\n      - subcommand: push\n        flags: [--tags]\n';
  const rule =
    '      - subcommand: push\n        flags: [--force, -o]\n' +
    '        flag_constraints: { --force: { value: none, required: true }, -o: { enum: [it\'s, "a, b"], required: true } }\n' +
    '        args: [{ enum: [origin] }, { enum: [main] }]\n';
  void test('a rule of its own is added, loads, and is not added twice', () => {
    const once = addAllowRule(head + allow, request, { validate }) as Edited;
    assert.equal(once.text, head + allow + rule);
    assert.deepEqual(once.notes, []);
    assert.deepEqual((addAllowRule(once.text, request) as Edited).changes, []);
  });
});

const refused: readonly {
  name: string;
  request?: Partial<AllowRequest>;
  before: string;
  expected: Omit<Refusal, 'ok'>;
}[] = [
  {
    name: 'no tools',
    before: 'version: 1\n',
    expected: { code: 'unknown_tool', why: "there is no tool 'git': add 'tools.git.binary' first" },
  },
  {
    name: 'tools without a value',
    before: 'tools:\n',
    expected: { code: 'wrong_type', why: "'tools' must be a mapping", line: 1, column: 7 },
  },
  {
    name: 'a scalar among the rules',
    before: `${head}    allow: [push]\n`,
    expected: { code: 'wrong_type', why: "'tools.git.allow[0]' must be a mapping", line: 5, column: 13 },
  },
  {
    name: 'a merge key',
    before: `${head}    allow:\n      - <<: {}\n`,
    expected: {
      code: 'anchor_in_policy',
      why: 'merge keys are not allowed in the policy',
      line: 6,
      column: 9,
    },
  },
  {
    name: 'a flag that a denied one begins with',
    request: { flags: ['--for'] },
    before: `${head}    deny: [{ subcommand: push, flags: [--force] }]\n`,
    expected: { code: 'denied_by_rule', why: "a deny rule for 'push' names '--for'" },
  },
  {
    name: 'everything below a denied word',
    request: { subcommand: 'remote add' },
    before: `${head}    deny: [{ subcommand: remote }]\n`,
    expected: { code: 'denied_by_rule', why: "a deny rule for 'remote' covers it" },
  },
  {
    name: 'a character that turns the line around',
    request: { flags: ['--a\u202Eb'] },
    before: head,
    expected: { code: 'request_malformed', why: 'a flag holds a control character' },
  },
  {
    name: 'a flag with a letter that is drawn as nothing',
    request: { flags: ['--force\u3164'] },
    before: head,
    expected: { code: 'request_malformed', why: 'a flag holds a control character' },
  },
  {
    name: 'a flag with a value',
    request: { flags: ['--format=json'] },
    before: head,
    expected: { code: 'request_malformed', why: 'a flag is named with its dashes and without a value' },
  },
  {
    name: 'words with two spaces between',
    request: { subcommand: 'pr  list' },
    before: head,
    expected: {
      code: 'request_malformed',
      why: 'a subcommand is words parted by single spaces, none with a dash first',
    },
  },
  {
    name: 'a NUL in the file',
    before: `${head}    env: { A: "\0" }\n`,
    expected: { code: 'syntax_error', why: 'the file holds a control character', line: 5, column: 16 },
  },
];

void describe('what is not written', () => {
  for (const { name, request, before, expected } of refused)
    void test(name, () =>
      assert.deepEqual(addAllowRule(before, { ...push, ...request }), { ok: false, ...expected }),
    );
});

void test('bare names are pointed out, and the diff shows the lines that change', () => {
  const outcome = addAllowRule(`${head}    allow:\n      - subcommand: push\n`, push) as Edited;
  assert.deepEqual(outcome.notes, [
    '--tags, --atomic: allowed with any value and without one, tighten them by hand with flag_constraints',
  ]);
  assert.equal(
    outcome.diff,
    '@@ -4,3 +4,4 @@\n     binary: /usr/bin/git\n     allow:\n       - subcommand: push\n+        flags: [--tags, --atomic]\n',
  );
});
