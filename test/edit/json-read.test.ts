import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'node:test';
import { jsonValue, readJson, type JsonNode } from '../../src/edit/json-read.ts';
import { EditRefused } from '../../src/edit/refuse.ts';
import { runs } from './generate.ts';

const strict = { comments: false, trailingCommas: false };
const loose = { comments: true, trailingCommas: true };

const broken: readonly { text: string; why: string; offset: number }[] = [
  { text: '{"a":1,}', why: 'a member is missing after the comma', offset: 7 },
  { text: '[1,]', why: 'a value is missing after the comma', offset: 3 },
  { text: '{"a":1 "b":2}', why: 'a comma is missing', offset: 7 },
  { text: '{"a" 1}', why: 'a colon is missing', offset: 5 },
  { text: '{"a":}', why: 'a value is missing', offset: 5 },
  { text: "{'a':1}", why: 'names are written in double quotes', offset: 1 },
  { text: '{a:1}', why: 'a name in double quotes is missing', offset: 1 },
  { text: '{"a":NaN}', why: '"NaN" is not a JSON value', offset: 5 },
  { text: '01', why: '"01" is not a JSON value', offset: 0 },
  { text: '["a\n"]', why: 'the string is not closed', offset: 1 },
  { text: '["a\tb"]', why: 'the string holds a character or an escape that JSON does not allow', offset: 1 },
  { text: '["\\x"]', why: 'the string holds a character or an escape that JSON does not allow', offset: 1 },
  { text: '[1', why: '"]" is missing', offset: 2 },
  { text: '{} x', why: 'the value has ended, but more text follows', offset: 3 },
  { text: '// c\n{}', why: 'comments are not allowed in this file', offset: 0 },
];

void describe('what is not JSON is refused at its place', () => {
  for (const { text, why, offset } of broken)
    void test(JSON.stringify(text), () =>
      assert.throws(
        () => readJson(text, strict),
        (error) => {
          assert.ok(error instanceof EditRefused);
          assert.deepEqual([error.code, error.message, error.offset], ['syntax_error', why, offset]);
          return true;
        },
      ),
    );
  void test('a comment that is not closed', () =>
    assert.throws(() => readJson('/* x', loose), { message: 'the comment is not closed' }));
  void test('values nested without end', () =>
    assert.throws(() => readJson('['.repeat(100_000), strict), {
      message: 'the values are nested too deep',
    }));
});

void test('"__proto__" is a key like any other', () => {
  const text = '{"__proto__": {"x": 1}}';
  assert.deepEqual(jsonValue(readJson(text, strict).root as JsonNode), JSON.parse(text));
});

void test('takes what JSON.parse takes and nothing else', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"\\u0041"',
    '"',
    '1',
    '-0.5e3',
    '0',
    'true',
    'null',
    ' ',
    '\n',
    '\\',
    "'",
    '/',
    '\u00A0',
  );
  const parsed = (read: () => unknown): unknown => {
    try {
      return { value: read() };
    } catch (error) {
      if (!(error instanceof SyntaxError || error instanceof EditRefused)) throw error;
      return 'refused';
    }
  };
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      const ours = parsed(() => {
        const { root } = readJson(text, strict);
        // A file of white space alone is no JSON, but one that an object may follow.
        if (root === null) throw new EditRefused('syntax_error', 'nothing there');
        return jsonValue(root);
      });
      assert.deepEqual(
        ours,
        parsed(() => JSON.parse(text)),
      );
    }),
    { numRuns: runs.numRuns * 10 },
  );
  fc.assert(
    fc.property(fc.json(), (text) => {
      assert.deepEqual(jsonValue(readJson(text, strict).root as JsonNode), JSON.parse(text));
    }),
    runs,
  );
});
