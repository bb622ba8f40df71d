import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { createScrubber } from '../../src/scrub/scrubber.ts';

const secret = 'correct"horse/battery+staple';
const key = '-----BEGIN TEST KEY-----\nline one of it\nline two of it\n';
const scrubber = createScrubber({
  literals: [
    { name: 'SECRET', value: secret },
    { name: 'KEY', value: key },
  ],
  patterns: [{ name: 'acme', regex: 'acme_[a-z0-9]{32}' }],
});

const corpus = readFileSync(new URL('../corpus/scrub/cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { text: string }).text);

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...corpus) },
  fc.constantFrom(
    secret,
    key,
    JSON.stringify(secret),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('hex'),
  ),
  fc.constantFrom(
    `acme_${'a1'.repeat(16)}`,
    '\n',
    '\r\n',
    ' ',
    '\\\n',
    '"',
    '=',
    'password=',
    '\u001b[31m',
    '\u001b[0m',
    '\u001b]8;;',
    '\u001b\\',
    'x',
  ),
  fc.constantFrom(
    '-----BEGIN RSA PRIVATE KEY-----\n',
    'Private-Lines: 3\n',
    'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n',
    '-----END RSA PRIVATE KEY-----',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const texts = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

function inChunks(text: string, cuts: readonly number[]): string {
  const stream = scrubber.stream();
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  const chunks = [0, ...places].map((from, at) => text.slice(from, places[at] ?? text.length));
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
}

test('any split of a text is scrubbed as the whole is', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
      assert.equal(inChunks(text, cuts), scrubber.scrub(text));
    }),
    { numRuns: 3000 },
  );
});

test('a line of 200,000 characters without an end is scrubbed as the whole is, in bounded memory', () => {
  const filler = 'lorem ipsum '.repeat(400);
  const token = `ghp_${'a1B2'.repeat(9)}`;
  const line = Array.from({ length: 40 }, (_, at) => `${filler.slice(0, 4700 + at * 7)} ${token}`).join('');
  const stream = scrubber.stream();
  let out = '';
  let longest = 0;
  for (let at = 0; at < line.length; at += 997) {
    out += stream.push(line.slice(at, at + 997));
    longest = Math.max(longest, Math.min(at + 997, line.length) - out.length);
  }
  out += stream.end();
  assert.equal(out, scrubber.scrub(line));
  assert.equal(out.includes('ghp_'), false);
  assert.equal(out.split('[redacted:github-token]').length - 1, 40);
  assert.ok(longest < 100 * 1024, `held back ${longest}`);
});

test('whole lines come out at once', () => {
  const stream = scrubber.stream();
  assert.equal(stream.push('one\ntwo'), 'one\n');
  assert.equal(stream.push(' and a half\nthree'), 'two and a half\n');
  assert.equal(stream.end(), 'three');
});

test('a configured value never survives, in any of its forms, at any split', () => {
  const forms = [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('hex'),
    ...['', 'u:', 'us:'].map((before) => Buffer.from(`${before}${secret}`).toString('base64')),
  ];
  for (const form of forms) {
    for (let cut = 0; cut <= form.length; cut++) {
      const stream = scrubber.stream();
      const out = stream.push(`a ${form.slice(0, cut)}`) + stream.push(`${form.slice(cut)} z`) + stream.end();
      assert.equal(out, 'a [redacted:SECRET] z');
    }
  }
});

test('a value over several lines is one secret', () => {
  assert.equal(scrubber.scrub(`a\n${key}b\n`), 'a\n[redacted:KEY]b\n');
});

test('a key that was cut off is redacted as far as it goes', () => {
  const body = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0QUJDREVGR0hJSktMTU5PUFFSU1RV';
  assert.equal(
    scrubber.scrub(`x\n-----BEGIN RSA PRIVATE KEY-----\n${body}\n${body}\nand then\n`),
    'x\n[redacted:private-key]\nand then\n',
  );
});

test('bytes outside a match stay: colours, carriage returns, NUL', () => {
  const text = 'a\u001b[31mred\u001b[0m\rb\u0000c\u001b]0;title\u0007\r\n\u009b1md';
  assert.equal(scrubber.scrub(text), text);
});

test('too short values are named and not looked for', () => {
  const short = createScrubber({
    literals: [
      { name: 'A', value: 'a' },
      { name: 'B', value: '' },
    ],
    patterns: [],
  });
  assert.deepEqual([short.tooShort, short.scrub('a cat')], [['A', 'B'], 'a cat']);
});
