/** Policy as MCP tools, and structured calls as argv. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evaluate } from '../../src/policy/evaluate.ts';
import {
  describeTools,
  readRun,
  readStructured,
  toArgv,
  type StructuredArgs,
} from '../../src/policy/structured.ts';
import { policyOf, problemsOf } from './support.ts';

const policy = policyOf({
  git: {
    allow: [
      {
        subcommand: 'commit',
        flags: ['--message', '--all', '-e', '-o', '--porcelain'],
        flag_constraints: {
          '--message': { short: '-m', value: 'required', repeat: true },
          '--all': { short: '-a', value: 'none' },
          '-e': { value: 'required' },
          '-o': { value: 'optional' },
          '--porcelain': { value: 'optional' },
        },
        rest: 'any',
      },
      { subcommand: 'remote', flags: ['-v'], args: 'any', read_only: true },
      { subcommand: 'remote add', args: 'any' },
      { subcommand: 'add', flags: ['-u'], rest: { path: 'cwd' }, end_of_options: true },
    ],
  },
  docker: { allow: [{ subcommand: 'run', flags: ['--rm'], rest: 'any' }] },
  find: { allow: [{ flags: ['-name'], flag_constraints: { '-name': { value: 'required' } }, args: 'any' }] },
});

void describe('a structured call is exactly this call, or refused', () => {
  const rows: readonly (readonly [string, string, string, StructuredArgs, readonly string[] | string])[] = [
    ['nothing', 'git', 'commit', {}, ['commit']],
    [
      'flags and args',
      'git',
      'commit',
      { flags: { '--message': 'x y', '--all': true }, args: ['f'] },
      ['commit', '--message=x y', '--all', 'f'],
    ],
    ['a short name', 'git', 'commit', { flags: { '-m': 'x' } }, ['commit', '--message=x']],
    [
      'a short name with a dashed value',
      'git',
      'commit',
      { flags: { '-m': '-x' } },
      ['commit', '--message=-x'],
    ],
    [
      'a short name with an equals sign',
      'git',
      'commit',
      { flags: { '-m': '=x' } },
      ['commit', '--message==x'],
    ],
    ['a value of nothing', 'git', 'commit', { flags: { '-e': '' } }, ['commit', '-e', '']],
    [
      'an optional value',
      'git',
      'commit',
      { flags: { '-o': 'x', '--porcelain': true } },
      ['commit', '-ox', '--porcelain'],
    ],
    [
      'an argument is no optional value',
      'git',
      'commit',
      { flags: { '--porcelain': true }, args: ['v1'] },
      ['commit', '--porcelain', 'v1'],
    ],
    [
      'a list repeats',
      'git',
      'commit',
      { flags: { '--message': ['a', 'b'] } },
      ['commit', '--message=a', '--message=b'],
    ],
    ['where it may', 'git', 'commit', { flags: { '-e': ['a', 'b'] } }, 'flag_repeated'],
    [
      'a flag that needs a value takes no argument for it',
      'git',
      'commit',
      { flags: { '--message': true }, args: ['x'] },
      'flag_value_missing',
    ],
    ['a value for a flag without', 'git', 'commit', { flags: { '--all': 'x' } }, 'flag_value_unexpected'],
    ['a short one', 'git', 'commit', { flags: { '-a': 'x' } }, 'flag_value_ambiguous'],
    ['unknown flags reach the policy', 'git', 'commit', { flags: { '--amend': true } }, 'flag_not_allowed'],
    ['with a value', 'git', 'commit', { flags: { '-q': 'x' } }, 'flag_not_allowed'],
    ['a cluster is no flag', 'git', 'commit', { flags: { '-ae': true } }, 'flag_value_ambiguous'],
    [
      'an argument that looks like a flag',
      'git',
      'commit',
      { args: ['--all'] },
      'end_of_options_not_allowed',
    ],
    [
      'an argument that is a separator',
      'git',
      'commit',
      { args: ['--', '--all'] },
      'end_of_options_not_allowed',
    ],
    ['where the rule has --', 'git', 'add', { args: ['--', 'a'] }, ['add', '--', 'a']],
    ['a dashed argument meets its constraint there', 'git', 'add', { args: ['-u'] }, 'path_not_allowed'],
    ['an argument is no subcommand', 'git', 'remote', { args: ['add', 'x'] }, 'end_of_options_not_allowed'],
    ['nor after a flag', 'git', 'remote', { flags: { '-v': true }, args: ['add'] }, 'arg_not_allowed'],
    [
      'docker: words after the image',
      'docker',
      'run',
      { flags: { '--rm': true }, args: ['i', '--rm', '--', 'x'] },
      ['run', '--rm', 'i', '--rm', '--', 'x'],
    ],
    [
      'find: a bare tool',
      'find',
      '',
      { flags: { '-name': '*.ts' }, args: ['src'] },
      ['src', '-name', '*.ts'],
    ],
  ];
  for (const [sentence, tool, path, args, expected] of rows)
    test(sentence, () => {
      const argv = toArgv(policy, tool, path === '' ? [] : path.split(' '), args);
      const decision = evaluate(policy, { tool, argv });
      assert.deepEqual(decision.decision === 'allow' ? decision.argv : decision.reason, expected);
    });
});

void describe('malformed arguments', () => {
  const rows: readonly (readonly [string, unknown, string])[] = [
    ['a list', [], 'the arguments must be an object'],
    ['another property', { env: {} }, "there is no property 'env': a call has flags and args"],
    [
      'a flag that is false',
      { flags: { '--x': false } },
      'flags must map names to true, a string, or a list of strings',
    ],
    [
      'a flag without dashes',
      { flags: { x: true } },
      'flags must map names to true, a string, or a list of strings',
    ],
    [
      'a separator as a flag',
      { flags: { '--': true } },
      'flags must map names to true, a string, or a list of strings',
    ],
    [
      'a value in the name',
      { flags: { '--x=y': true } },
      'flags must map names to true, a string, or a list of strings',
    ],
    ['flags as a list', { flags: ['--x'] }, 'flags must map names to true, a string, or a list of strings'],
    ['a number', { args: [1] }, 'args must be a list of strings'],
    ['a string for a list', { args: 'x' }, 'args must be a list of strings'],
  ];
  for (const [sentence, args, detail] of rows)
    test(sentence, () => {
      const read = readStructured('git', ['commit'], args);
      assert.deepEqual('decision' in read && [read.reason, read.detail], ['request_malformed', detail]);
    });
  test('nothing is an empty call', () => assert.deepEqual(readStructured('git', [], undefined), {}));
});

void test('wraptool_run takes tool and argv', () => {
  assert.deepEqual(readRun({ tool: 'git', argv: ['status'] }), { tool: 'git', argv: ['status'] });
  for (const bad of [
    null,
    [],
    {},
    { tool: 'git' },
    { tool: 1, argv: [] },
    { tool: 'git', argv: 'status' },
    { tool: 'git', argv: [], cwd: '/' },
  ])
    assert.equal('decision' in readRun(bad), true, JSON.stringify(bad));
});

void test('one tool per allowed subcommand, sorted, typed from the rule', () => {
  const tools = describeTools(policy);
  assert.deepEqual(
    tools.map(({ name, tool, subcommand, readOnly }) => [name, tool, subcommand.join(' '), readOnly]),
    [
      ['docker_run', 'docker', 'run', false],
      ['find', 'find', '', false],
      ['git_add', 'git', 'add', false],
      ['git_commit', 'git', 'commit', false],
      ['git_remote', 'git', 'remote', true],
      ['git_remote_add', 'git', 'remote add', false],
    ],
  );
  const commit = tools.find(({ name }) => name === 'git_commit');
  assert.ok(commit);
  const { properties } = commit.inputSchema as {
    properties: { flags: { properties: unknown; additionalProperties: unknown } };
  };
  assert.deepEqual(properties.flags.properties, {
    '--message': {
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
      description: 'short: -m',
    },
    '--all': { type: 'boolean', const: true, description: 'short: -a' },
    '-e': { type: 'string' },
    '-o': { anyOf: [{ type: 'boolean', const: true }, { type: 'string' }] },
    '--porcelain': { anyOf: [{ type: 'boolean', const: true }, { type: 'string' }] },
  });
  assert.notEqual(properties.flags.additionalProperties, false);
});

void test('names that collide, are too long or ours are problems', () => {
  assert.deepEqual(
    problemsOf({
      a_b: { allow: [{ subcommand: 'c' }] },
      a: { allow: [{ subcommand: 'b c' }, { subcommand: 'x'.repeat(60) }] },
      wraptool: { allow: [{ subcommand: 'run' }] },
    }),
    [
      'tools.a.allow: "a b c" and "a_b c" would both be registered as "a_b_c"',
      `tools.a.allow: "a_${'x'.repeat(60)}" is longer than the 48 characters a tool's name may have`,
      'tools.wraptool.allow: "wraptool_run" would be registered among the gateway\'s own tools',
    ],
  );
});
