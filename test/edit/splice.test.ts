import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apply, decode, inverse, splice } from '../../src/edit/splice.ts';
import { refusalError } from '../../src/edit/refuse.ts';
import type { Change } from '../../src/edit/types.ts';

const read = (text: string): unknown => JSON.parse(text) as unknown;

void describe('the one writer', () => {
  void test('makes changes in the order of their place and takes them back', () => {
    const changes = [
      { at: 6, remove: 'f', insert: 'FF' },
      { at: 1, remove: '', insert: '<' },
    ];
    assert.equal(apply('a bcdef', changes), 'a< bcdeFF');
    assert.equal(apply('a< bcdeFF', inverse(changes)), 'a bcdef');
  });
  void test('keeps the byte order mark out of the offsets', () => {
    const edited = splice('\uFEFF{}', [{ at: 1, remove: '', insert: '"a":1' }], { read, expected: { a: 1 } });
    assert.deepEqual(edited, {
      ok: true,
      text: '\uFEFF{"a":1}',
      changes: [{ at: 1, remove: '', insert: '"a":1' }],
      diff: '@@ -1,1 +1,1 @@\n-{}\n\\ No newline at end of file\n+{"a":1}\n\\ No newline at end of file\n',
      notes: [],
    });
  });

  const wrong: readonly { name: string; changes: Change[]; why: RegExp }[] = [
    {
      name: 'text that is not its own is not removed',
      changes: [{ at: 1, remove: '"a":1', insert: '"b":1' }],
      why: /would remove text that is not its own/,
    },
    {
      name: 'a result that says something else is not given out',
      changes: [{ at: 6, remove: '', insert: ',"b":2' }],
      why: /would say something else/,
    },
  ];
  for (const { name, changes, why } of wrong)
    void test(name, () =>
      assert.throws(() => splice('{"a":1}', changes, { read, expected: { a: 1, b: 1 } }), {
        code: 'result_invalid',
        message: why,
      }),
    );

  void test('a change that does not fit the text is an error', () => {
    assert.throws(() => apply('abc', [{ at: 1, remove: 'x', insert: '' }]), RangeError);
    assert.throws(
      () =>
        apply('abc', [
          { at: 0, remove: 'ab', insert: '' },
          { at: 1, remove: 'b', insert: '' },
        ]),
      RangeError,
    );
  });
  void test('bytes that are not UTF-8 are refused', () =>
    assert.throws(() => decode(Buffer.from([0xc0, 0x80])), { code: 'not_utf8' }));
  void test('the diff has a hunk for each place, with three lines around', () => {
    const lines = Array.from({ length: 20 }, (_, index) => `${index}\n`).join('');
    const edited = splice(
      lines,
      [
        { at: 0, remove: '', insert: '\n' },
        { at: lines.length, remove: '', insert: 'end' },
      ],
      {
        read: (text) => text.trim().split('\n').length,
        expected: 21,
      },
    );
    assert.equal(
      edited.diff,
      '@@ -1,3 +1,4 @@\n+\n 0\n 1\n 2\n@@ -18,3 +19,4 @@\n 17\n 18\n 19\n+end\n\\ No newline at end of file\n',
    );
  });
});

void test('a refusal is shown with its place and what to do', () => {
  const error = refusalError(
    { ok: false, code: 'wrong_type', why: "'mcp' must be an object", line: 2, column: 5 },
    '/a.json',
  );
  assert.deepEqual(
    [error.code, error.message, error.hint],
    [
      'wrong_type',
      "/a.json:2:5: 'mcp' must be an object",
      'mend it at the place that is named; the file was left alone',
    ],
  );
});
