/** How argv is read, and the one form in which it is written. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RuleSpec } from '../../src/policy/spec.ts';
import { outcome, policyOf, problemsOf } from './support.ts';

type Row = readonly [sentence: string, call: readonly string[], expected: readonly string[] | string];

function table(name: string, policy: ReturnType<typeof policyOf>, rows: readonly Row[]): void {
  void describe(name, () => {
    for (const [sentence, call, expected] of rows)
      test(sentence, () => assert.deepEqual(outcome(policy, call), expected));
  });
}

const gnu: RuleSpec = {
  subcommand: 'do',
  flags: ['--all', '--name', '--when', '-k', '-o', '--open', '-x', '--list', '-Wall'],
  flag_constraints: {
    '--all': { short: '-a', value: 'none' },
    '--name': { short: '-n', value: 'required' },
    '--when': { short: '-w', value: 'optional', enum: ['now', 'never'] },
    '-k': { value: 'required', dash_value: true },
    '-o': { value: 'optional' },
    '--list': { short: '-l', value: 'required', repeat: true, enum: ['a', 'b', '-'] },
    '-Wall': { value: 'none' },
  },
  rest: 'any',
};

table('gnu', policyOf({ tool: { global_flags: ['-4', '--quiet'], allow: [gnu] } }), [
  ['long with attached value', ['tool', 'do', '--name=x'], ['do', '--name=x']],
  ['long with detached value is written attached', ['tool', 'do', '--name', 'x'], ['do', '--name=x']],
  ['an empty attached value stays one', ['tool', 'do', '--name='], ['do', '--name=']],
  ['an empty detached value is attached', ['tool', 'do', '--name', '', 'y'], ['do', '--name=', 'y']],
  ['short with detached value is written long', ['tool', 'do', '-n', 'x'], ['do', '--name=x']],
  ['short with attached value', ['tool', 'do', '-nx'], ['do', '--name=x']],
  ['a cluster is taken apart', ['tool', 'do', '-an', 'x'], ['do', '--all', '--name=x']],
  ['a value flag ends the cluster', ['tool', 'do', '-ana'], ['do', '--all', '--name=a']],
  ['an optional value ends the cluster', ['tool', 'do', '-awnow'], ['do', '--all', '--when=now']],
  ['-x=value is ambiguous', ['tool', 'do', '-n=x'], 'flag_value_ambiguous'],
  ['so it is for a flag without value', ['tool', 'do', '-a=x'], 'flag_value_ambiguous'],
  ['and inside a cluster', ['tool', 'do', '-an=x'], 'flag_value_ambiguous'],
  ['the name is judged before that', ['tool', 'do', '-z=x'], 'flag_not_allowed'],
  ['repetition is judged before that', ['tool', 'do', '-a', '-a=x'], 'flag_repeated'],
  ['no value for a flag without', ['tool', 'do', '--all=true'], 'flag_value_unexpected'],
  ['missing value at the end', ['tool', 'do', '--name'], 'flag_value_missing'],
  ['a detached value with a dash is refused', ['tool', 'do', '--name', '-a'], 'flag_value_ambiguous'],
  ['so is the end of options', ['tool', 'do', '--name', '--', 'x'], 'flag_value_ambiguous'],
  ['an attached value may begin with a dash', ['tool', 'do', '--name=-a'], ['do', '--name=-a']],
  ['an attached short one too', ['tool', 'do', '-n-a'], ['do', '--name=-a']],
  ['a lone dash is no value', ['tool', 'do', '--name', '-'], 'flag_value_not_allowed'],
  ['unless an enum names it', ['tool', 'do', '--list', '-'], ['do', '--list=-']],
  ['dash_value takes the next token', ['tool', 'do', '-k', '--all'], ['do', '-k', '--all']],
  ['dash_value attached is written detached', ['tool', 'do', '-k--all'], ['do', '-k', '--all']],
  ['an optional value is never detached', ['tool', 'do', '--when', 'now'], ['do', '--when', 'now']],
  ['an optional value attached', ['tool', 'do', '--when=now'], ['do', '--when=now']],
  ['an optional value outside the enum', ['tool', 'do', '--when=x'], 'flag_value_not_allowed'],
  ['an optional short value stays attached', ['tool', 'do', '-ofile', '-x'], ['do', '-ofile', '-x']],
  ['a flag without constraint may be bare', ['tool', 'do', '--open', 'x'], ['do', '--open', 'x']],
  ['or have a value', ['tool', 'do', '--open=x'], ['do', '--open=x']],
  ['its letters are a cluster', ['tool', 'do', '-xa'], ['do', '-x', '--all']],
  ['each letter must be allowed', ['tool', 'do', '-xq'], 'flag_not_allowed'],
  ['once only', ['tool', 'do', '-a', '--all'], 'flag_repeated'],
  ['twice in a cluster', ['tool', 'do', '-aa'], 'flag_repeated'],
  ['repeat allows it', ['tool', 'do', '-la', '--list', 'b'], ['do', '--list=a', '--list=b']],
  ['a listed word with one dash is one flag', ['tool', 'do', '-Wall'], ['do', '-Wall']],
  ['no abbreviation', ['tool', 'do', '--al'], 'flag_not_allowed'],
  ['no implied negation', ['tool', 'do', '--no-all'], 'flag_not_allowed'],
  ['no other number of dashes', ['tool', 'do', '---all'], 'flag_not_allowed'],
  ['one dash is a cluster', ['tool', 'do', '-all'], 'flag_value_not_allowed'],
  ['no case folding', ['tool', 'do', '--ALL'], 'flag_not_allowed'],
  ['flags after positionals are flags, written first', ['tool', 'do', 'y', '-a'], ['do', '--all', 'y']],
  ['-- is not accepted unless the rule says so', ['tool', 'do', '--', 'y'], 'end_of_options_not_allowed'],
  ['a lone dash is no positional', ['tool', 'do', '-'], 'arg_not_allowed'],
  ['global flags come first, exactly', ['tool', '-4', '--quiet', 'do'], ['-4', '--quiet', 'do']],
  ['not with a value', ['tool', '--quiet=1', 'do'], 'global_flag_not_allowed'],
  ['not in a cluster', ['tool', '-44', 'do'], 'global_flag_not_allowed'],
  ['not after the subcommand', ['tool', 'do', '--quiet'], 'flag_not_allowed'],
  ['a flag of the rule is not global', ['tool', '-a', 'do'], 'global_flag_not_allowed'],
  ['-- before the subcommand', ['tool', '--', 'do'], 'global_flag_not_allowed'],
  ['a lone dash before the subcommand', ['tool', '-', 'do'], 'global_flag_not_allowed'],
  ['global flags alone', ['tool', '--quiet'], 'subcommand_not_allowed'],
  ['a letter is a whole character', ['tool', 'do', '-😀'], 'flag_not_allowed'],
]);

table(
  'end of options',
  policyOf({
    tool: {
      allow: [
        {
          subcommand: 'same',
          flags: ['-a'],
          args: [{ enum: ['x', '-a'] }],
          rest: 'any',
          end_of_options: true,
        },
        { subcommand: 'own', args: [{ enum: ['x'], optional: true }], end_of_options: { path: 'cwd' } },
      ],
    },
  }),
  [
    ['it is kept where it was', ['tool', 'same', 'x', '--', '-a'], ['same', 'x', '--', '-a']],
    ['flags before it go first', ['tool', 'same', 'x', '-a', '--', 'y'], ['same', '-a', 'x', '--', 'y']],
    ['what follows is judged in order', ['tool', 'same', '--', 'y'], 'arg_not_allowed'],
    ['what follows is no flag', ['tool', 'same', '--', '-a'], ['same', '--', '-a']],
    ['with nothing after it', ['tool', 'same', 'x', '--'], ['same', 'x', '--']],
    ['a second one is an argument', ['tool', 'same', 'x', '--', '--'], ['same', 'x', '--', '--']],
    ['a constraint of its own', ['tool', 'own', '--', 'a/b'], ['own', '--', 'a/b']],
    ['which is for everything after it', ['tool', 'own', 'x', '--', 'a', '/b'], 'path_not_allowed'],
    ['a second one meets it too', ['tool', 'own', '--', '--'], 'path_not_allowed'],
    ['what is before it is not judged by it', ['tool', 'own', 'a/b', '--'], 'arg_not_allowed'],
  ],
);

const singleDash: RuleSpec = {
  subcommand: 'do',
  flags: ['-run', '-v', '-race', '-input'],
  flag_constraints: {
    '-run': { value: 'required' },
    '-v': { value: 'none' },
    '-input': { value: 'optional', enum: ['false'] },
  },
  rest: 'any',
};

table('single dash', policyOf({ tool: { grammar: { options: 'single-dash' }, allow: [singleDash] } }), [
  ['a long name has one dash', ['tool', 'do', '-run', 'x'], ['do', '-run', 'x']],
  ['= attaches the value; unknown programs get it detached', ['tool', 'do', '-run=x'], ['do', '-run', 'x']],
  ['what cannot be written detached is refused', ['tool', 'do', '-run=-x'], 'flag_value_ambiguous'],
  ['no clusters', ['tool', 'do', '-vrace'], 'flag_not_allowed'],
  ['no second dash', ['tool', 'do', '--run=x'], 'flag_not_allowed'],
  ['optional values stay attached', ['tool', 'do', '-input=false'], ['do', '-input=false']],
  ['a detached word is a positional', ['tool', 'do', '-input', 'false'], ['do', '-input', 'false']],
]);

table(
  'go',
  policyOf({
    go: {
      allow: [
        { ...singleDash, subcommand: 'test' },
        { subcommand: 'run', flags: ['-v'], rest: 'any' },
      ],
    },
  }),
  [
    ['values are attached', ['go', 'test', '-run', 'X', './...'], ['test', '-run=X', './...']],
    ['a value may begin with a dash', ['go', 'test', '-run=-x'], ['test', '-run=-x']],
    ['the package ends the flags of run', ['go', 'run', '.', '-v'], ['run', '.', '-v']],
  ],
);

table(
  'what could be read as an option',
  policyOf({
    gcc: {
      allow: [
        {
          flags: ['-o', '-c'],
          flag_constraints: { '-o': { value: 'required' }, '-c': { value: 'none' } },
          rest: 'any',
        },
      ],
    },
    less: { allow: [{ rest: 'any', end_of_options: true }] },
    tar: { allow: [{ flags: ['-c'], flag_constraints: { '-c': { value: 'none' } }, rest: 'any' }] },
    find: {
      allow: [
        {
          flags: ['-name', '-L', '-print'],
          flag_constraints: { '-name': { value: 'required' } },
          args: 'any',
        },
      ],
    },
    ssh: { allow: [{ flags: ['-v'], flag_constraints: { '-v': { value: 'none' } }, rest: 'any' }] },
    curl: {
      allow: [
        {
          flags: ['--request'],
          flag_constraints: { '--request': { short: '-X', value: 'required' } },
          rest: 'any',
        },
      ],
    },
    npm: {
      allow: [
        {
          subcommand: 'run',
          flags: ['--silent', '--loglevel'],
          flag_constraints: { '--silent': { value: 'none' } },
          rest: 'any',
          end_of_options: true,
        },
      ],
    },
  }),
  [
    ['a response file', ['gcc', '-c', '@x'], 'response_file_not_allowed'],
    ['a response file as a detached value', ['gcc', '-o', '@x'], 'response_file_not_allowed'],
    ['a plus option', ['less', '+x'], 'plus_option_not_allowed'],
    ['a plus option after --', ['less', '--', '+x'], 'plus_option_not_allowed'],
    ['old-style options', ['tar', 'c', 'x'], 'old_style_options_not_allowed'],
    ['not in second place', ['tar', '-c', 'x'], ['-c', 'x']],
    ['an empty first word', ['tar', ''], 'old_style_options_not_allowed'],
    ['find: start points come first', ['find', '-name', 'x', '-L', 'src'], ['-L', 'src', '-name', 'x']],
    ['find: an operator is no start point', ['find', '(', '-name', 'x'], 'arg_not_allowed'],
    ['find: a known value flag is never bare', ['find', 'src', '-print', '-name'], 'flag_value_missing'],
    ['ssh: options are read after the host', ['ssh', 'h', '-v'], 'arg_not_allowed'],
    ['ssh: what follows the command is its own', ['ssh', '-v', 'h', 'ls', '-l'], ['-v', 'h', 'ls', '-l']],
    ['curl: long values are detached', ['curl', '--request=GET', 'u'], ['--request', 'GET', 'u']],
    ['curl: short spelling of the same', ['curl', '-XGET', 'u'], ['--request', 'GET', 'u']],
    ['curl: -X= would be the method "="', ['curl', '-X=GET', 'u'], 'flag_value_ambiguous'],
    [
      'npm: true after a bare flag would be its value',
      ['npm', 'run', 'true', '--silent'],
      'flag_value_ambiguous',
    ],
    ['npm: another word would not', ['npm', 'run', 'lint', '--silent'], ['run', '--silent', 'lint']],
    ['npm: nor after --', ['npm', 'run', '--silent', '--', 'true'], ['run', '--silent', '--', 'true']],
    [
      'npm: an open flag that takes the next word is never bare',
      ['npm', 'run', '--loglevel', 'x'],
      'flag_value_missing',
    ],
  ],
);

table(
  'positionals',
  policyOf({
    tool: {
      allow: [
        { subcommand: 'none' },
        { subcommand: 'any', args: 'any' },
        {
          subcommand: 'list',
          args: [{ enum: ['a'], optional: true }, { enum: ['b'] }, { enum: ['c'], optional: true }],
        },
        { subcommand: 'stop', flags: ['-v'], args: [{ enum: ['img'] }], rest: 'any', interspersed: false },
        { subcommand: 'group', args: 'any' },
        { subcommand: 'group add', args: 'any' },
      ],
    },
  }),
  [
    ['none by default', ['tool', 'none', 'x'], 'arg_not_allowed'],
    ['any', ['tool', 'any', '', 'x'], ['any', '', 'x']],
    ['optional ones may be missing on both sides', ['tool', 'list', 'b'], ['list', 'b']],
    ['the left one is filled first', ['tool', 'list', 'a', 'b'], ['list', 'a', 'b']],
    ['all of them', ['tool', 'list', 'a', 'b', 'c'], ['list', 'a', 'b', 'c']],
    ['one too many', ['tool', 'list', 'a', 'b', 'c', 'd'], 'arg_not_allowed'],
    ['missing', ['tool', 'list'], 'arg_missing'],
    [
      'the first positional ends the flags',
      ['tool', 'stop', '-v', 'img', '-v', '--', 'x'],
      ['stop', '-v', 'img', '-v', '--', 'x'],
    ],
    ['a deeper subcommand is another rule', ['tool', 'group', 'add', 'x'], ['group', 'add', 'x']],
    ['and never an argument', ['tool', 'group', 'x', 'add'], 'arg_not_allowed'],
    ['hidden characters', ['tool', 'any', 'a\u202eb'], 'argument_malformed'],
    ['zero width', ['tool', 'any', 'a\u200bb'], 'argument_malformed'],
    ['tab without multiline', ['tool', 'any', 'a\tb'], 'argument_malformed'],
    ['other scripts are text', ['tool', 'any', 'é漢😀'], ['any', 'é漢😀']],
  ],
);

const values: RuleSpec = {
  args: [],
  flags: ['--int', '--url', '--path', '--in', '--ext', '--text', '--type-path'],
  flag_constraints: {
    '--int': { type: 'int', min: -5, max: 100 },
    '--url': { type: 'url' },
    '--path': { path: 'cwd' },
    '--in': { path: ['src', '/srv/data'] },
    '--ext': { path: 'cwd', ext: ['.ts', '.js'] },
    '--text': { value: 'required', multiline: true },
    '--type-path': { type: 'path' },
  },
};

const valuePolicy = policyOf({ tool: { allow: [values] } });
const valueRows: readonly (readonly [flag: string, value: string, reason: string | null])[] = [
  ['--int', '5', null],
  ['--int', '-5', null],
  ['--int', '-6', 'flag_value_not_allowed'],
  ['--int', '101', 'flag_value_not_allowed'],
  ['--int', '012', 'flag_value_not_allowed'],
  ['--int', '0x1', 'flag_value_not_allowed'],
  ['--int', '1e1', 'flag_value_not_allowed'],
  ['--int', '+1', 'flag_value_not_allowed'],
  ['--int', '-0', 'flag_value_not_allowed'],
  ['--int', '', 'flag_value_not_allowed'],
  ['--int', '٣', 'flag_value_not_allowed'],
  ['--url', 'https://example.org/a?b=c#d', null],
  ['--url', 'HTTPS://example.org/', 'flag_value_not_allowed'],
  ['--url', 'file:///etc/passwd', 'flag_value_not_allowed'],
  ['--url', 'https://user@example.org/', 'flag_value_not_allowed'],
  ['--url', 'https:/example.org', 'flag_value_not_allowed'],
  ['--url', 'https://example.org\\@evil', 'flag_value_not_allowed'],
  ['--url', 'https://exa mple.org/', 'flag_value_not_allowed'],
  ['--path', 'a/b', null],
  ['--path', '.', null],
  ['--path', 'a/b:c', null],
  ['--path', 'a/../b', 'path_not_allowed'],
  ['--path', '..', 'path_not_allowed'],
  ['--path', 'a/..', 'path_not_allowed'],
  ['--path', '/a', 'path_not_allowed'],
  ['--path', '~/a', 'path_not_allowed'],
  ['--path', '-a', 'path_not_allowed'],
  ['--path', '-', 'path_not_allowed'],
  ['--path', 'host:a', 'path_not_allowed'],
  ['--path', ':/', 'path_not_allowed'],
  ['--path', '', 'path_not_allowed'],
  ['--in', 'src/a', null],
  ['--in', './src//a', null],
  ['--in', 'src', null],
  ['--in', 'srcs/a', 'path_not_allowed'],
  ['--in', 'lib/a', 'path_not_allowed'],
  ['--in', '/srv/data/x', null],
  ['--in', '/srv/database', 'path_not_allowed'],
  ['--in', '/srv/data/../x', 'path_not_allowed'],
  ['--ext', 'a.ts', null],
  ['--ext', 'a.rs', 'path_not_allowed'],
  ['--type-path', '/etc/passwd', 'path_not_allowed'],
  ['--text', 'a\n\tb', null],
  ['--text', 'a\r\nb', 'argument_malformed'],
  ['--text', 'a\u0000b', 'argument_malformed'],
];
void describe('values', () => {
  for (const [flag, value, reason] of valueRows)
    test(`${flag} ${JSON.stringify(value)} is ${reason ?? 'allowed'}`, () => {
      assert.deepEqual(outcome(valuePolicy, ['tool', `${flag}=${value}`]), reason ?? [`${flag}=${value}`]);
    });
});

void test('impossible rules are problems', () => {
  assert.deepEqual(
    problemsOf({
      tool: {
        allow: [
          {
            subcommand: 'a',
            flags: ['--x', '--y', '-y'],
            flag_constraints: {
              '--x': { value: 'none', enum: ['a'] },
              '--y': { short: '-y', min: 3 },
              '--z': {},
            },
          },
          {
            subcommand: 'b',
            args: [{ enum: [] }, { type: 'int', min: 2, max: 1 }, { pattern: '(a+)+' }, { pattern: '([' }],
          },
        ],
      },
      find: { allow: [{ args: 'any', end_of_options: true }] },
    }),
    [
      'tools.tool.allow.0.flag_constraints.--x: "--x" takes no value, so nothing can constrain it',
      'tools.tool.allow.0.flag_constraints.--y.min: min and max go with type: int',
      'tools.tool.allow.0.flags.2: flag "-y" is named twice in this rule',
      'tools.tool.allow.0.flag_constraints.--z: "--z" has a constraint but is not listed under flags',
      'tools.tool.allow.1.args.0.enum: expected at least one value',
      'tools.tool.allow.1.args.1.min: min 2 is greater than max 1',
      'tools.tool.allow.1.args.2.pattern: matching "(a+)+" takes time that grows exponentially with the value',
      'tools.tool.allow.1.args.3.pattern: "([" is not a regular expression: unterminated character class',
      'tools.find.allow.0.end_of_options: find writes its positionals before its options: "--" cannot be kept in place',
    ],
  );
});

void test('characters by which a CLI makes more of a value than one path, unless an enum names them', () => {
  const policy = policyOf({
    kubectl: {
      allow: [
        { subcommand: 'apply', flags: ['-f'], flag_constraints: { '-f': { path: 'cwd' } } },
        { subcommand: 'diff', flags: ['-f'], flag_constraints: { '-f': { pattern: 'https://ok/.*' } } },
        { subcommand: 'get', flags: ['-f'], flag_constraints: { '-f': { enum: ['a,b'] } } },
      ],
    },
    curl: {
      allow: [{ flags: ['--put'], flag_constraints: { '--put': { short: '-T', path: 'cwd' } } }],
    },
    ssh: { allow: [{ flags: ['-i'], flag_constraints: { '-i': { path: 'cwd' } } }] },
  });
  const cases = [
    [
      ['kubectl', 'apply', '-f', 'a.yaml'],
      ['apply', '-f', 'a.yaml'],
    ],
    [['kubectl', 'apply', '-f', 'a,/etc/x'], 'path_not_allowed'],
    [['kubectl', 'apply', '-fa,b'], 'path_not_allowed'],
    [['kubectl', 'diff', '-f', 'https://ok/a,/etc/x'], 'flag_value_not_allowed'],
    [
      ['kubectl', 'get', '-f', 'a,b'],
      ['get', '-f', 'a,b'],
    ],
    [['curl', '-T', '{a,/etc/x}'], 'path_not_allowed'],
    [
      ['curl', '-T', 'a'],
      ['--put', 'a'],
    ],
    [['ssh', '-i', '%d/x'], 'path_not_allowed'],
    [['ssh', '-i', '${X}/x'], 'path_not_allowed'],
  ] as const;
  for (const [call, expected] of cases) assert.deepEqual(outcome(policy, call), expected, call.join(' '));
});
