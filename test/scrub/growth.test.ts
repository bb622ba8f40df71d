import assert from 'node:assert/strict';
import { test } from 'node:test';
import { places } from '../../src/scrub/places.ts';
import { createScrubber } from '../../src/scrub/scrubber.ts';
import { shapes, shapeSource } from '../../src/scrub/shapes.ts';
import { compileUserPattern } from '../../src/scrub/user-pattern.ts';

const small = 16 * 1024;
const big = 128 * 1024;

/** Texts that make a pattern begin often and fail late: what it begins with, alone, with a long run, with separators. */
function hardTexts(source: string): string[] {
  const heads = [...source.matchAll(/[A-Za-z0-9]{2,}[-_.:/]?/g)].map(([head]) => head);
  const runs = [
    'a',
    '0',
    'A1',
    'aA0_',
    ' ',
    '-',
    '.',
    '/',
    ':',
    '=',
    '"',
    'a.',
    'a:',
    'a ',
    '://a:',
    'eyJ',
    'eyJa.',
    '-p',
    ' -p ',
    'password ',
  ];
  return [
    ...new Set([
      ...heads.slice(0, 6),
      ...runs,
      ...heads
        .slice(0, 6)
        .flatMap((head) => [`${head} `, `${head}=`, `${head}a`, `${head}=${'a'.repeat(50)}`]),
    ]),
  ];
}

/** Processor time of this thread in milliseconds: what else the machine does is not the scrubber's doing. */
function spent(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * The least time that each of two pieces of work takes, measured by turns until the second is within `times` of the
 * first: a busy machine only ever adds, so that the least comes near to what the work itself costs.
 */
function leasts(floor: number, times: number, first: () => void, second: () => void): [number, number] {
  let [base, taken] = [Infinity, Infinity];
  for (let round = 0; round < 12 && (round < 2 || taken / base > times); round += 1) {
    base = Math.max(floor, Math.min(base, took(first)));
    taken = Math.min(taken, took(second));
  }
  return [base, taken];
}

function took(work: () => void): number {
  const before = spent();
  work();
  return spent() - before;
}

function matchAll(expression: RegExp, text: string): void {
  expression.lastIndex = 0;
  while (expression.exec(text) !== null) if (expression.lastIndex === 0) break;
}

const patterns = [
  ...shapes.map((shape) => ({ name: shape.name, source: shapeSource(shape), flags: 'g' })),
  ...places.map((place) => ({ name: `${place.name} (by place)`, source: place.source, flags: 'gi' })),
];

for (const { name, source, flags } of patterns) {
  test(`eight times the text takes ${name} no more than sixteen times as long: ${source.slice(0, 40)}`, () => {
    const expression = new RegExp(source, flags);
    for (const unit of hardTexts(source)) {
      const text = (length: number) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
      const [little, much] = [text(small), text(big)];
      const [base, taken] = leasts(
        0.5,
        16,
        () => matchAll(expression, little),
        () => matchAll(expression, much),
      );
      assert.ok(
        taken / base <= 16,
        `${JSON.stringify(unit)}: ${base.toFixed(2)} ms, then ${taken.toFixed(2)} ms`,
      );
      assert.ok(taken < 1500, `${JSON.stringify(unit)}: ${taken.toFixed(0)} ms for 128 KiB`);
    }
  });
}

test('the whole scrubber grows with the text, not faster', () => {
  const scrubber = createScrubber({ literals: [{ name: 'A', value: 'aaaaaaaaaaaa' }], patterns: [] });
  for (const unit of [
    'a',
    'eyJ',
    'password=',
    '\u001b[',
    '\u001b[31mx',
    '-----BEGIN RSA PRIVATE KEY-----\n',
    'Private-Lines: 9\n',
    '\\\n',
    'https://a:b',
    'ghp_',
  ]) {
    const text = (length: number) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
    const [little, much] = [text(small), text(big)];
    scrubber.scrub(little);
    const [base, taken] = leasts(
      2,
      20,
      () => scrubber.scrub(little),
      () => scrubber.scrub(much),
    );
    assert.ok(
      taken / base <= 20,
      `${JSON.stringify(unit)}: ${base.toFixed(1)} ms, then ${taken.toFixed(1)} ms`,
    );
  }
});

const verdicts: [regex: string, refused: RegExp | null][] = [
  ['acme_[a-z0-9]{32}', null],
  ['(?:a|b)-[0-9]{4,64}', null],
  ['acme_[a-z0-9]+', /has no bound/],
  ['x{3,}', /has no bound/],
  ['(a{1,20}){1,20}b', /could take too long/],
  ['(?:[a-z]{1,64}-){1,8}x', /could take too long/],
  ['(a)\\1', /refers back/],
  ['a?', /matches the empty text/],
  ['(', /is not a regular expression/],
  ['[a]{1,9000}', /could take too long/],
];
for (const [regex, refused] of verdicts) {
  test(`the operator's pattern ${regex} is ${refused === null ? 'taken' : 'refused'}`, () => {
    const compile = () => compileUserPattern({ name: 'p', regex });
    if (refused === null) compile();
    else assert.throws(compile, refused);
  });
}
