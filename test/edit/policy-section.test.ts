/** Other text for a tool's rules: that, and nothing else. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { readSection, replaceSection } from '../../src/edit/policy-section.ts';

const config = `version: 1   # ours
tools:
  git:
    binary: /usr/bin/git   # the one
    allow:   # what is read
      - { subcommand: status }   # keep

      - subcommand: log
    # between
    deny: [{ subcommand: push }]
  ls: { binary: /usr/bin/ls, allow: [{ args: [] }] }
  go:
    binary: /usr/bin/go
up: { network: none }
`;

const outcomes: readonly [
  sentence: string,
  tool: string,
  section: 'allow' | 'deny',
  next: string,
  wanted: string,
][] = [
  [
    'a rule is added, comments and blank lines stay',
    'git',
    'allow',
    '    allow:   # what is read\n      - { subcommand: status }   # keep\n\n      - subcommand: log\n      - subcommand: diff',
    config.replace('      - subcommand: log\n', '      - subcommand: log\n      - subcommand: diff\n'),
  ],
  ['deny, on one line', 'git', 'deny', '    deny: []', config.replace('[{ subcommand: push }]', '[]')],
  ['within a flow mapping', 'ls', 'allow', 'allow: []', config.replace('allow: [{ args: [] }]', 'allow: []')],
  [
    'a section that was not there',
    'go',
    'allow',
    '    allow:\n      - subcommand: vet\n',
    config.replace('/usr/bin/go\n', '/usr/bin/go\n    allow:\n      - subcommand: vet\n'),
  ],
  ['the same text', 'git', 'deny', '    deny: [{ subcommand: push }]', config],
];

for (const [sentence, tool, section, next, wanted] of outcomes)
  for (const [kind, as] of [
    ['', (text: string) => text],
    [', with a byte order mark', (text: string) => `\ufeff${text}`],
    [', with CRLF', (text: string) => text.replaceAll('\n', '\r\n')],
  ] as const)
    test(sentence + kind, () => {
      const done = replaceSection(as(config), tool, section, next);
      assert.ok(done.ok, JSON.stringify(done));
      assert.equal(done.text, as(wanted));
    });

test('what is read is whole lines, and written back changes nothing', () => {
  for (const [tool, section] of [
    ['git', 'allow'],
    ['git', 'deny'],
    ['ls', 'allow'],
  ] as const) {
    const found = readSection(config, tool, section);
    assert.ok(found.ok);
    assert.equal(config.split('\n')[found.line - 1]?.includes(section), true);
    const done = replaceSection(config, tool, section, found.text);
    assert.ok(done.ok && done.changes.length === 0 && done.text === config);
  }
});

const refusals: readonly [
  sentence: string,
  tool: string,
  section: 'allow' | 'deny',
  next: string,
  why: RegExp,
][] = [
  ['another key of the tool', 'git', 'deny', '    deny: []\n    timeout: 5s', /only tools\.git\.deny/],
  [
    'another tool',
    'git',
    'deny',
    '    deny: []\n  sh: { binary: /bin/sh, allow: [{ args: any }] }',
    /only tools\.git\.deny/,
  ],
  [
    'another block of the config',
    'git',
    'deny',
    '    deny: []\nsupervisor: { restart: on-crash }',
    /only tools\.git\.deny|YAML/,
  ],
  ['the other section', 'git', 'deny', '    deny: []\n    env: { A: b }', /only tools\.git\.deny/],
  ['another name for it', 'git', 'deny', '    binary: /bin/sh', /binary|only tools/],
  ['a second document', 'git', 'deny', '    deny: []\n---\nversion: 1', /YAML|document/],
  ['what swallows the rest of the file', 'git', 'deny', '    deny: "', /YAML|only/],
  ['a comment that hides what follows in a flow mapping', 'ls', 'allow', 'allow: [] #', /YAML|only/],
  ['a tool that is not there', 'sh', 'allow', '    allow: []', /no tool/],
];

for (const [sentence, tool, section, next, why] of refusals)
  test(`refused: ${sentence}`, () => {
    const done = replaceSection(config, tool, section, next);
    assert.equal(done.ok, false);
    assert.match((done as { why: string }).why, why);
  });
