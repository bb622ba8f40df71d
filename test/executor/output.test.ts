import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OutputStream, type ScrubStream } from '../../src/executor/output.ts';
import { through } from './support.ts';

function take(chunks: readonly (string | Buffer)[], maxBytes = 1000, scrub: ScrubStream = through()) {
  const lines: string[] = [];
  const output = new OutputStream({ scrub, maxBytes, onLine: (line) => lines.push(line) });
  for (const chunk of chunks) output.push(Buffer.from(chunk as string));
  return { ...output.end(), lines };
}

const plain: [string, (string | Buffer)[], string][] = [
  ['text is kept as it is', ['a\tb\nc'], 'a\tb\nc'],
  ['a character in two chunks is one', [Buffer.from([0xc3]), Buffer.from([0xa9])], 'é'],
  ['invalid UTF-8 is replaced', [Buffer.from([0x61, 0xff, 0x62])], 'a\ufffdb'],
  ['a character that never ends is replaced', ['ab', Buffer.from([0xe2, 0x82])], 'ab\ufffd'],
  ['control characters are removed', ['a\x07b\x08c\x7fd\u0085e\rf\r\n'], 'abcdef\n'],
  ['terminal sequences are removed whole', ['\x1b[1;31mred\x1b[0m'], 'red'],
  ['a terminal sequence in two chunks too', ['a\x1b[1;', '31mred'], 'ared'],
  ['an escape at the end is removed', ['a\x1b'], 'a'],
  ['a sequence that never ends leaves its letters', ['a\x1b[', '1'.repeat(100)], `a[${'1'.repeat(100)}`],
  ['a byte order mark stays', ['\ufeffa'], '\ufeffa'],
  ['nothing is nothing', [], ''],
];
for (const [name, chunks, expected] of plain) {
  test(name, () => {
    const { text, truncated } = take(chunks);
    assert.deepEqual({ text, truncated }, { text: expected, truncated: false });
  });
}

test('a line in the middle says how many bytes were left out', () => {
  const { text, truncated } = take(['a'.repeat(10), '\n', 'b'.repeat(30), 'c'.repeat(10)], 20);
  assert.deepEqual(
    { text, truncated },
    { text: `${'a'.repeat(10)}\n[31 bytes left out]\n${'c'.repeat(10)}`, truncated: true },
  );
});

test('exactly as much as may be kept is kept whole', () => {
  assert.deepEqual(take(['x'.repeat(20)], 20).text, 'x'.repeat(20));
  assert.equal(take(['x'.repeat(21)], 20).truncated, true);
});

test('head and tail are never cut inside a character', () => {
  const { text } = take(['€'.repeat(100)], 20);
  assert.equal(text, '€€€\n[282 bytes left out]\n€€€');
});

test('binary output is named and not shown', () => {
  assert.equal(
    take([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\0', 'latin1')]).text,
    '[binary output (PNG image), 12 bytes, not shown]\n',
  );
  assert.equal(take(['a\0b']).text, '[binary output, 3 bytes, not shown]\n');
  const noise = Buffer.from(Array.from({ length: 600 }, (_, index) => 0x80 + (index % 0x70)));
  assert.match(take([noise]).text, /^\[binary output, 600 bytes, not shown\]$/m);
});

test('a NUL far from the beginning is a control character like any other', () => {
  const { text } = take([`${'line\n'.repeat(2000)}a\0b\n`], 100_000);
  assert.ok(text.endsWith('line\nab\n'));
});

test('lines are reported as they come, without their ends', () => {
  assert.deepEqual(take(['one\ntw', 'o\n\nthree']).lines, ['one', 'two', '', 'three']);
});

test('a removed character can’t hide a secret from the scrubber', () => {
  const scrub = (): ScrubStream => ({ push: (text) => text.replaceAll('hunter2', '***'), end: () => '' });
  for (const raw of ['hun\x07ter2', 'hun\x1b[1mter2', 'hunt\x7fer\u00852', 'hun\x1b[', '0mter2']) {
    const { text } = take([raw], 1000, scrub());
    assert.equal(text.includes('hunter2'), false, JSON.stringify(raw));
  }
  const seen: string[] = [];
  const output = new OutputStream({ scrub: scrub(), maxBytes: 1000, onLine: (line) => seen.push(line) });
  output.push(Buffer.from('hunter2\n'));
  assert.deepEqual([seen, output.end().text], [['***'], '***\n']);
});

test('what the scrubber holds back comes at the end', () => {
  let held = '';
  const scrub: ScrubStream = { push: (text) => ((held += text), ''), end: () => `[${held}]` };
  assert.equal(take(['a', 'b'], 1000, scrub).text, '[ab]');
});

test('chunks do not matter: any split of any text gives the same', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 }).filter((one) => !one.includes('\0'));
  fc.assert(
    fc.property(text, fc.array(fc.nat(300)), fc.integer({ min: 2, max: 400 }), (whole, cuts, max) => {
      const bytes = Buffer.from(whole);
      const at = [...new Set(cuts.filter((cut) => cut < bytes.length))].toSorted((a, b) => a - b);
      const chunks = [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
      assert.deepEqual(take(chunks, max).text, take([bytes], max).text);
    }),
  );
});

test('never more than what may be kept, and the line', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 2000 }),
      fc.integer({ min: 2, max: 200 }),
      (text, max) => {
        const { text: kept, truncated } = take([text], max);
        assert.ok(!truncated || Buffer.byteLength(kept) <= max + 40, kept);
      },
    ),
  );
});
