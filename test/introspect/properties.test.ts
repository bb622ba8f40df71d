/** Whatever a program prints, the parser ends: soon, without an error, and with a result of the right shape. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseHelp } from '../../src/introspect/help/parse.ts';
import type { Help } from '../../src/introspect/help/types.ts';

function checkShape({ subcommands, flags }: Help): void {
  for (const [name, description] of Object.entries(subcommands)) {
    assert.match(name, /^\S{1,60}$/);
    assert.equal(typeof description, 'string');
  }
  const names = flags.flatMap(({ long, short }) => [long, short].filter((one) => one !== null));
  assert.equal(new Set(names).size, names.length, 'each name once');
  for (const { long, short, value, description } of flags) {
    assert.ok(long !== null || short !== null);
    assert.match(long ?? '--x', /^[-/]\S+$/);
    assert.match(short ?? '-x', /^[-/]\S$/u);
    assert.ok(['none', 'required', 'optional'].includes(value));
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(`${long}${short}${description}`, /[\u0000-\u001f\u007f-\u009f]/);
  }
}

/** Pieces of which help texts are made, in any order. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...[
        '\n',
        '\n\n',
        '  ',
        '    ',
        '\t',
        '-a',
        '--all',
        ', ',
        '=',
        '[',
        ']',
        '<',
        '>',
        '{',
        '}',
        '(',
        ')',
        '|',
      ],
      ...[
        'Usage: ',
        'usage: x ',
        'Commands:\n',
        'Options:\n',
        'FILE',
        'name',
        '...',
        ':',
        ':=',
        '[no-]',
        '\b',
        '\u001b[1m',
      ],
      ...[
        '# ',
        ' - ',
        '$ ',
        'or: ',
        'EXAMPLES\n',
        '{a,b}',
        '(also -x)',
        '[default: 1]',
        '\u2500\u2500\u2500',
        '/',
      ],
    ),
    fc.string({ maxLength: 8 }),
  ),
  { maxLength: 120 },
);

describe('the parser', () => {
  test('never throws on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        checkShape(parseHelp(Buffer.from(bytes).toString('utf8')));
      }),
      { numRuns: 500 },
    );
  });

  test('never throws on pieces of help texts', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        checkShape(parseHelp(parts.join('')));
      }),
      { numRuns: 3000 },
    );
  });

  test('reads a flag as it was written, whatever its name, operand and column', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9]{1,8}(?:-[a-z0-9]{1,6})?$/);
    const letter = fc.constantFrom(...'abcdefgijklmnopqrstuvwxyzABCDEFGH'.split(''));
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.record({ long: word, letter: fc.option(letter), value: fc.boolean() }), {
          selector: ({ long }) => long,
          minLength: 1,
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 2, max: 6 }),
        (flags, indent, gap) => {
          const letters = new Set<string>();
          const given = flags.map((flag) => {
            const short = flag.letter !== null && !letters.has(flag.letter) ? flag.letter : null;
            if (short !== null) letters.add(short);
            return { ...flag, short };
          });
          const heads = given.map(
            ({ long, short, value }) =>
              `${short === null ? '   ' : `-${short},`} --${long}${value ? '=VALUE' : ''}`,
          );
          const width = Math.max(...heads.map((head) => head.length)) + gap;
          const text = `Options:\n${heads.map((head) => `${' '.repeat(indent)}${head.padEnd(width)}about it\n`).join('')}`;
          assert.deepEqual(
            parseHelp(text).flags.map(({ long, short, value }) => ({ long, short, value })),
            given.map(({ long, short, value }) => ({
              long: `--${long}`,
              short: short === null ? null : `-${short}`,
              value: value ? 'required' : 'none',
            })),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Units that once repeated could make a careless scanner go back over what it has read. */
const units = [
  '[',
  '<',
  '(',
  '{',
  '-',
  '- ',
  '-a,',
  '-a|-b|',
  '-a <',
  '  -a [[[[[[[[[[[[[[\n',
  '  -x A|',
  '  -x A.',
  'a, ',
  'usage: a [b|c|d] {e|f} \n',
  'usage: x [-a | [-b | [-c\n',
  'Commands:\n  foo  bar\n',
  '  -a  foo     -b  bar\n',
  'foo:\n',
  'a\b',
  '\u001b[',
  '\u001b]',
  '\t',
  '\n',
  "-a '",
  '  -a  (also -',
  '  -a [default: \n',
  'aa  bb  cc\n',
  ' X := {\n a | \n',
  "  --[no-]foo=<bar>[baz]... , -x {a|b}  text (see `x' command)\n",
  'usage: x '.padEnd(2000, '[-a] '),
];

describe('the time that it takes', () => {
  const mega = 1024 * 1024;
  const timed = (text: string) => {
    const start = performance.now();
    checkShape(parseHelp(text));
    return performance.now() - start;
  };
  for (const unit of units)
    test(`grows no faster than ${JSON.stringify(unit.slice(0, 24))} is repeated`, () => {
      const text = unit.repeat(Math.ceil(mega / unit.length)).slice(0, mega);
      timed(text.slice(0, mega / 16));
      const least = (size: number) => Math.min(...[0, 1, 2].map(() => timed(text.slice(0, size))));
      const [small, large] = [least(mega / 8), least(mega)];
      // Eight times the text: 24 leaves room for a busy machine, a square would be 64.
      assert.ok(large < 20 || large < small * 24, `${small} ms, then ${large} ms`);
    });

  test('a hostile text of 10 MB ends within a second', () => {
    for (const unit of units) {
      const text = unit.repeat(Math.ceil((10 * mega) / unit.length));
      const ms = Math.min(timed(text), timed(text));
      assert.ok(ms < 1000, `${JSON.stringify(unit.slice(0, 24))}: ${ms} ms`);
    }
  });
});
