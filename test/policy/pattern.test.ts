/** Patterns: what is refused, that both matchers agree, and that none takes long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { buildMachine, runMachine } from '../../src/policy/pattern/machine.ts';
import { parsePattern } from '../../src/policy/pattern/parse.ts';
import { compilePattern } from '../../src/policy/pattern/pattern.ts';

const runs = process.env['CI'] === 'true' ? 10_000 : 1500;

const growths: Readonly<Record<string, readonly string[]>> = {
  linear: [
    '[a-z0-9]+(-[a-z0-9]+)*',
    '(foo/)+',
    '(a|b)*c',
    '(HEAD|main|[a-z][a-z0-9/._-]*)(~[0-9]{1,3})?',
    '[A-Za-z0-9][A-Za-z0-9._/-]{0,99}',
    '([a-z]{1,10}\\.){1,5}com',
    '(?!file://|https?://)[\\s\\S]{1,1000}',
    '[0-9]{4}-[0-9]{2}-[0-9]{2}',
    '(aa|a{2}b)*',
    '\\p{L}+',
    '^a$|\\bb\\B',
    '',
    '|a',
  ],
  polynomial: ['a*a*b', '.*a.*b', '(a+){1,50}', '[a-z]*[a-z0-9]*!', '\\d+\\w+x'],
  exponential: [
    '(a+)+$',
    '(a|a)*',
    '(a*)*',
    '((a?)*)*',
    '(x(|y?))*',
    '(\\w+\\s?)*',
    '(.*)*',
    '([a-z]|[a-c])+!',
    '(aa|a{2})*',
    '(a{2}|a{3})*',
    '(?=(a+)+)b',
    '(a|b|ab)*c',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
  ],
};

void describe('growth', () => {
  for (const [growth, sources] of Object.entries(growths))
    for (const source of sources)
      test(`${source || '(empty)'} is ${growth}`, () => {
        const result = compilePattern(source, false);
        const found =
          'growth' in result
            ? result.growth
            : /exponentially/.exec(result.error)
              ? 'exponential'
              : result.error;
        assert.equal(found, growth);
      });
  test('a last "anything" costs nothing', () => {
    const result = compilePattern('\\+.*|.*:.*', true);
    assert.equal('growth' in result && result.growth, 'linear');
  });
});

void test('what cannot be run in linear time is refused', () => {
  const refused = ['(a)\\1', '(?<x>a)\\k<x>', '(?i:a)', 'a{0,30000}', '([', 'a)(b', '\\-', '*'].map(
    (source) => {
      const result = compilePattern(source, false);
      return 'error' in result;
    },
  );
  assert.deepEqual(
    refused,
    Array.from({ length: 8 }, () => true),
  );
});

const atoms = fc.constantFrom(
  'a',
  'b',
  '[ab]',
  '[^a]',
  '.',
  '\\d',
  '\\w',
  '\\b',
  '^',
  '$',
  '😀',
  '\\u{1f600}',
  'c',
);
const source = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atoms,
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => a + b),
    fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('node'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,3}', '*?'))
      .map(([a, q]) => `(?:${a})${q}`),
    fc.tuple(fc.constantFrom('(?=', '(?!', '(?<=', '(?<!'), tie('node')).map(([open, a]) => `${open}${a})`),
  ),
})).node;
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '\n', '😀'), maxLength: 8 });

void test('both matchers agree', () => {
  fc.assert(
    fc.property(source, text, (pattern, value) => {
      const native = new RegExp(`^(?:${pattern})$`, 'u');
      const leaf = (part: string, character: string): boolean => new RegExp(`^${part}$`, 'u').test(character);
      assert.equal(runMachine(buildMachine(parsePattern(pattern)), value, leaf), native.test(value));
    }),
    { numRuns: runs },
  );
});

void test('whatever is accepted takes less than 100 ms on 32 KiB', () => {
  const accepted = [
    ...(growths['linear'] ?? []),
    ...(growths['polynomial'] ?? []),
    '(a{1,50}){1,50}',
    '(.{0,99}a?){0,99}',
  ];
  const values = [
    'a'.repeat(32_768),
    `${'a'.repeat(32_767)}!`,
    'ab'.repeat(16_384),
    '1a'.repeat(16_384),
    'a-'.repeat(16_384),
  ];
  const slow = accepted.flatMap((pattern) => {
    const result = compilePattern(pattern, false);
    if ('error' in result) return [`${pattern}: ${result.error}`];
    return values.flatMap((value) => {
      // Time of the processor, the best of three: what the machine does besides is not the pattern's.
      const times = [1, 2, 3].map(() => {
        const start = process.cpuUsage();
        result.pattern.matches(value);
        return process.cpuUsage(start).user / 1000;
      });
      return Math.min(...times) > 100 ? [`${pattern}: ${Math.min(...times)} ms`] : [];
    });
  });
  assert.deepEqual(slow, []);
});
