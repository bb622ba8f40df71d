/** What holds for every policy and every call. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compile, type Policy } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { nearestAllowed } from '../../src/policy/nearest.ts';
import type { DenySpec, RuleSpec, ToolSpec } from '../../src/policy/spec.ts';
import { toArgv, type StructuredArgs } from '../../src/policy/structured.ts';

const runs = process.env['CI'] === 'true' ? 10_000 : 1500;
const tools = ['git', 'go', 'find', 'curl', 'npm', 'docker', 'ssh', 'tar', 'cargo', 'other'] as const;

const long = fc.constantFrom(
  '--all',
  '--name',
  '--when',
  '--force',
  '--no-all',
  '--al',
  '-name',
  '-all',
  '-run',
);
const short = fc.constantFrom('-a', '-n', '-w', '-f', '-x');
const word = fc.constantFrom(
  'run',
  'add',
  'remote',
  'x',
  'true',
  '(',
  '@x',
  '+x',
  'src/a',
  '',
  '-',
  '..',
  'a=b',
  '=',
  'é',
);
const value = fc.constantFrom('x', '', '-', '-a', '--', '=', '=x', 'true', 'src/a', '@x');

const token = fc.oneof(
  long,
  short,
  word,
  fc.constant('--'),
  fc.tuple(long, value).map(([flag, text]) => `${flag}=${text}`),
  fc.tuple(short, value).map(([flag, text]) => flag + text),
  fc.tuple(short, fc.constantFrom('a', 'n', 'w', 'f', 'x')).map(([flag, letter]) => flag + letter),
);

const constraint = fc.record(
  {
    value: fc.constantFrom('none' as const, 'optional' as const, 'required' as const),
    repeat: fc.boolean(),
    required: fc.integer({ min: 0, max: 7 }).map((number) => number === 0),
  },
  { requiredKeys: ['value'] },
);

const rule: fc.Arbitrary<RuleSpec> = fc
  .record({
    subcommand: fc.option(fc.constantFrom('run', 'remote', 'remote add'), { nil: undefined }),
    flags: fc.uniqueArray(fc.constantFrom('--all', '--name', '--when', '-x', '-name', '-run'), {
      maxLength: 5,
    }),
    any: fc.boolean(),
    constraints: fc.array(constraint, { minLength: 6, maxLength: 6 }),
    shorts: fc.boolean(),
    dash: fc.boolean(),
    args: fc.constantFrom(
      'any' as const,
      undefined,
      [{ pattern: '[^-].*' }],
      [{ path: 'cwd' as const, optional: true }],
    ),
    rest: fc.constantFrom('any' as const, undefined, { enum: ['x', '-a', '-'] }),
    end: fc.constantFrom(undefined, true, { path: 'cwd' as const }),
    interspersed: fc.constantFrom(undefined, true, false),
  })
  .map(({ subcommand, flags, any, constraints, shorts, dash, args, rest, end, interspersed }) => {
    const letters: Readonly<Record<string, string>> = { '--all': '-a', '--name': '-n', '--when': '-w' };
    const flagConstraints = Object.fromEntries(
      flags.flatMap((flag, index) => {
        const spec = constraints[index];
        if (!spec || index % 3 === 2) return [];
        const letter = shorts ? letters[flag] : undefined;
        return [
          [
            flag,
            {
              ...spec,
              ...(letter ? { short: letter } : {}),
              ...(dash && spec.value === 'required' ? { dash_value: true } : {}),
            },
          ],
        ];
      }),
    );
    return {
      subcommand,
      flags: any && flags.length === 0 ? ('any' as const) : flags,
      flag_constraints: flagConstraints,
      args,
      rest,
      end_of_options: end,
      interspersed,
    };
  });

const deny: fc.Arbitrary<DenySpec> = fc.record({
  subcommand: fc.option(fc.constantFrom('run', 'remote', 'remote add'), { nil: undefined }),
  flags: fc.option(fc.subarray(['--force', '--all', '-f', '-x', '-run']), { nil: undefined }),
  args_pattern: fc.constantFrom(undefined, 'x', '.*:.*', '-.*'),
});

/** Mostly short: most long calls are refused. */
const argv = fc
  .tuple(
    fc.constantFrom([], ['run'], ['remote'], ['remote', 'add'], ['--force', 'run'], ['--force', 'remote']),
    fc.oneof({ weight: 3, arbitrary: fc.array(token, { maxLength: 3 }) }, fc.array(token, { maxLength: 6 })),
  )
  .map(([head, tail]) => [...head, ...tail]);

function make(tool: string, allow: readonly RuleSpec[], denied: readonly DenySpec[]): Policy | null {
  const spec: ToolSpec = { binary: `/usr/bin/${tool}`, global_flags: ['--force'], allow, deny: denied };
  const { policy, problems } = compile({ [tool]: spec }, () => ({ file: 'f', line: 1 }));
  return problems.length === 0 ? policy : null;
}

const rules = fc.array(rule, { minLength: 1, maxLength: 3 });
const denies = fc.array(deny, { maxLength: 2 });

void test('what is allowed in canonical form is allowed again, in the same form', () => {
  let seen = 0;
  fc.assert(
    fc.property(fc.constantFrom(...tools), rules, denies, argv, (tool, allow, denied, call) => {
      const policy = make(tool, allow, denied);
      fc.pre(policy !== null);
      const decision = evaluate(policy, { tool, argv: call });
      if (decision.decision === 'deny') return;
      seen++;
      assert.deepEqual(evaluate(policy, { tool, argv: decision.argv }), decision);
    }),
    { numRuns: runs },
  );
  assert.ok(seen > runs / 30, `only ${seen} calls were allowed`);
});

void test('a deny rule never widens what is allowed', () => {
  fc.assert(
    fc.property(fc.constantFrom(...tools), rules, denies, deny, argv, (tool, allow, denied, more, call) => {
      const before = make(tool, allow, denied);
      const after = make(tool, allow, [...denied, more]);
      fc.pre(before !== null && after !== null);
      const [old, now] = [evaluate(before, { tool, argv: call }), evaluate(after, { tool, argv: call })];
      if (now.decision === 'allow') assert.deepEqual(now, old);
    }),
    { numRuns: runs },
  );
});

void test('what is allowed meets no deny rule in the form in which it runs', () => {
  fc.assert(
    fc.property(fc.constantFrom(...tools), rules, deny, argv, (tool, allow, denied, call) => {
      const policy = make(tool, allow, [denied]);
      fc.pre(policy !== null && denied.subcommand === undefined);
      const decision = evaluate(policy, { tool, argv: call });
      if (decision.decision === 'deny') return;
      for (const part of decision.argv)
        assert.ok(!denied.flags?.includes(part.replace(/=.*$/s, '')), `${part} runs`);
    }),
    { numRuns: runs },
  );
});

void test('every word of the canonical form was given: nothing is invented, nothing lost', () => {
  fc.assert(
    fc.property(fc.constantFrom(...tools), rules, argv, (tool, allow, call) => {
      const policy = make(tool, allow, []);
      fc.pre(policy !== null);
      const decision = evaluate(policy, { tool, argv: call });
      if (decision.decision === 'deny') return;
      const letters = (words: readonly string[]): string =>
        words
          .join('')
          .replace(/--(?:all|name|when)/g, (name) => `-${name[2]}`)
          .replace(/[-=]/g, '');
      assert.deepEqual(Array.from(letters(decision.argv)).sort(), Array.from(letters(call)).sort());
    }),
    { numRuns: runs },
  );
});

void test('nearest_allowed is allowed as it stands', () => {
  fc.assert(
    fc.property(fc.constantFrom(...tools), rules, denies, argv, (tool, allow, denied, call) => {
      const policy = make(tool, allow, denied);
      fc.pre(policy !== null);
      const decision = evaluate(policy, { tool, argv: call });
      if (decision.decision === 'allow') return;
      const nearest = nearestAllowed(policy, decision);
      if (nearest === null) return;
      const again = evaluate(policy, { tool, argv: nearest });
      assert.deepEqual(again.decision === 'allow' && again.argv, nearest);
    }),
    { numRuns: runs },
  );
});

void test('a structured call that is allowed has exactly its arguments as positionals', () => {
  const structured: fc.Arbitrary<StructuredArgs> = fc.record({
    flags: fc.dictionary(fc.oneof(long, short), fc.oneof(fc.constant(true as const), value), { maxKeys: 3 }),
    args: fc.array(fc.oneof(word, long, short, value), { maxLength: 3 }),
  });
  const oneRule = rule.map((spec) => ({ ...spec, subcommand: 'remote' }));
  fc.assert(
    fc.property(fc.constantFrom(...tools), oneRule, structured, (tool, allow, args) => {
      const policy = make(tool, [allow, { subcommand: 'remote add', args: 'any' }], []);
      fc.pre(policy !== null && allow.flags !== 'any');
      const decision = evaluate(policy, { tool, argv: toArgv(policy, tool, ['remote'], args) });
      if (decision.decision === 'deny') return;
      assert.deepEqual(decision.subcommand, ['remote']);
      const given = (args.args ?? []).filter((arg) => arg !== '--');
      const kept = decision.argv.filter((part) => part !== '--');
      for (const arg of given) assert.ok(kept.includes(arg), `${arg} is not in ${kept.join(' ')}`);
      const flags = Object.values(args.flags ?? {}).length;
      const words = kept.length - 1 - given.length;
      assert.ok(words >= flags && words <= 2 * flags, `${kept.join(' ')} has other flags than asked`);
    }),
    { numRuns: runs },
  );
});
