import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { missingContainers, removeEntry, setEntry } from '../../src/edit/entry.ts';
import { textOf } from '../../src/edit/file.ts';
import type { Edited, Format, Grammar, Json, Outcome, Refusal } from '../../src/edit/types.ts';
import { bytes, index, json, variants } from './corpus.ts';

type Case = {
  readonly client: string;
  readonly format: Format;
  readonly grammar?: Grammar;
  readonly path: readonly string[];
  readonly key: string;
  readonly value: Json;
  readonly replacement?: Json;
};

function set({ format, grammar, path, key }: Case, text: string, value: Json): Outcome {
  return setEntry(format, text, [...path, key], value, grammar);
}

void describe('an entry in a client’s config', () => {
  for (const { id, what } of index('clients')) {
    const entry = json<Case>('clients', id, 'entry');
    const file = (name: string): Buffer | null => bytes('clients', id, `${name}.${entry.format}`);
    const before = file('before') ?? Buffer.alloc(0);
    const added = file('after-add');
    if (added === null) {
      void test(`${id} ${entry.client}: ${what}`, () => {
        const text = textOf(before);
        const outcome = typeof text === 'string' ? set(entry, text, entry.value) : text;
        const { code, line, column } = json<Refusal>('clients', id, 'refused');
        const found = outcome as Refusal;
        assert.deepEqual(
          {
            ok: found.ok,
            code: found.code,
            line: found.line,
            column: column === undefined ? undefined : found.column,
          },
          { ok: false, code, line, column },
        );
      });
      continue;
    }
    for (const { name, of } of file('before') === null
      ? variants('').slice(0, 1)
      : variants(before.toString()))
      void test(`${id} ${entry.client}: ${what}${name}`, () => {
        const once = set(entry, of(before.toString()), entry.value) as Edited;
        assert.equal(once.text, of(added.toString()));
        const again = set(entry, once.text, entry.value) as Edited;
        assert.deepEqual([again.text, again.changes], [once.text, []]);
        if (entry.replacement !== undefined) {
          const replaced = set(entry, once.text, entry.replacement) as Edited;
          assert.equal(replaced.text, of((file('after-replace') as Buffer).toString()));
        }
        const edited = file('edited');
        if (edited !== null) {
          const keys = [...entry.path, entry.key];
          const made = missingContainers(entry.format, of(before.toString()), keys, entry.grammar);
          const left = removeEntry(entry.format, of(edited.toString()), keys, made, entry.grammar) as Edited;
          assert.equal(left.text, of((file('after-remove') as Buffer).toString()));
        }
      });
  }
});

const value = { url: 'http://h/mcp', env: { K: 'a b' }, e: {}, list: ['x', 'on'], n: 3 };
const loose = { comments: true, trailingCommas: true };

const rows: readonly { name: string; format: Format; before: string; after: string }[] = [
  {
    name: 'JSONC: an empty object with a comment is opened up behind the comment',
    format: 'jsonc',
    before: '{\n  "mcp": { /* none */ }\n}\n',
    after:
      '{\n  "mcp": { /* none */\n    "w": {\n      "url": "http://h/mcp",\n      "env": {\n        "K": "a b"\n      },\n      "e": {},\n      "list": [\n        "x",\n        "on"\n      ],\n      "n": 3\n    }\n  }\n}\n',
  },
  {
    name: 'JSONC: a block comment over two lines stays with the member before',
    format: 'jsonc',
    before: '{ "mcp": { "a": 1 /* c\nd */ } }',
    after:
      '{ "mcp": { "a": 1, /* c\nd */ "w": { "url": "http://h/mcp", "env": { "K": "a b" }, "e": {}, "list": ["x", "on"], "n": 3 } } }',
  },
  {
    name: 'JSONC: leading commas in the container',
    format: 'jsonc',
    before: '{"mcp": {\n    "a": 1\n  , "b": 2 // y\n}}',
    after:
      '{"mcp": {\n    "a": 1\n  , "b": 2 // y\n  , "w": {\n        "url": "http://h/mcp",\n        "env": {\n            "K": "a b"\n        },\n        "e": {},\n        "list": [\n            "x",\n            "on"\n        ],\n        "n": 3\n    }\n}}',
  },
  {
    name: 'TOML: dotted keys of the entry become one inline table',
    format: 'toml',
    before: '[mcp]\nw.x = 1\nw.y = 2\na.x = 1\n',
    after:
      '[mcp]\nw = { url = "http://h/mcp", env = { K = "a b" }, e = {}, list = ["x", "on"], n = 3 }\na.x = 1\n',
  },
  {
    name: 'TOML: a sub-table without its table gives way to the table',
    format: 'toml',
    before: '[mcp.w.env]\nK = "2"\n\n[z]\n',
    after: '[mcp.w]\nurl = "http://h/mcp"\nenv = { K = "a b" }\ne = {}\nlist = ["x", "on"]\nn = 3\n\n[z]\n',
  },
  {
    name: 'TOML: an inline container without inner space',
    format: 'toml',
    before: 'mcp = {a={x=1}} # c\n',
    after:
      'mcp = {a={x=1}, w = {url = "http://h/mcp", env = {K = "a b"}, e = {}, list = ["x", "on"], n = 3}} # c\n',
  },
  {
    name: 'YAML: {} becomes a block and keeps its comment',
    format: 'yaml',
    before: 'mcp: {} # none\nx: 1\n',
    after:
      'mcp: # none\n  w:\n    url: http://h/mcp\n    env:\n      K: "a b"\n    e: {}\n    list:\n      - x\n      - "on"\n    "n": 3\nx: 1\n',
  },
  {
    name: 'YAML: a flow mapping stays flow, a file that is JSON stays JSON',
    format: 'yaml',
    before: '{"mcp": {"a": {"b": 1}}}\n',
    after:
      '{"mcp": {"a": {"b": 1}, "w": {"url": "http://h/mcp", "env": {"K": "a b"}, "e": {}, "list": ["x", "on"], "n": 3}}}\n',
  },
  {
    name: 'YAML: a scalar gives way to a block, its comment stays',
    format: 'yaml',
    before: 'mcp:\n  w: off # c\n  b: 1',
    after:
      'mcp:\n  w: # c\n    url: http://h/mcp\n    env:\n      K: "a b"\n    e: {}\n    list:\n      - x\n      - "on"\n    "n": 3\n  b: 1',
  },
];

void describe('an entry is written as its neighbours are', () => {
  for (const { name, format, before, after } of rows)
    void test(name, () => {
      const once = setEntry(format, before, ['mcp', 'w'], value, loose) as Edited;
      assert.equal(once.text, after);
      assert.deepEqual((setEntry(format, after, ['mcp', 'w'], value, loose) as Edited).changes, []);
    });
});

const removals: readonly { name: string; format: Format; made: number; before: string; after: string }[] = [
  {
    name: 'JSONC: the comment behind it stays',
    format: 'jsonc',
    made: 0,
    before: '{\n  "mcp": {\n    "w": {}, // mine\n    "b": 1\n  }\n}\n',
    after: '{\n  "mcp": {\n    // mine\n    "b": 1\n  }\n}\n',
  },
  {
    name: 'JSONC: a container with a comment in it stays',
    format: 'jsonc',
    made: 1,
    before: '{\n  "mcp": {\n    // mine\n    "w": {}\n  }\n}\n',
    after: '{\n  "mcp": {\n    // mine\n  }\n}\n',
  },
  {
    name: 'JSONC: the first of two with leading commas',
    format: 'jsonc',
    made: 0,
    before: '{\n    "w": {}\n  , "b": 1\n}\n',
    after: '{\n    "b": 1\n}\n',
  },
  {
    name: 'JSONC: the comma before goes, the comment before stays',
    format: 'jsonc',
    made: 0,
    before: '{ "a": 1, /* c */ "w": {} }',
    after: '{ "a": 1 /* c */ }',
  },
  {
    name: 'JSONC: braces that share its line stay',
    format: 'jsonc',
    made: 0,
    before: '{ "mcp": {\n    "a": 1,\n    "w": {} } }',
    after: '{ "mcp": {\n    "a": 1 } }',
  },
  {
    name: 'TOML: the blank line before the table goes too',
    format: 'toml',
    made: 1,
    before: 'a = 1\n\n[w]\nx = 1\n[w.env]\nK = "1"\n# end\n',
    after: 'a = 1\n# end\n',
  },
  {
    name: 'TOML: the last pair of a file without a final newline',
    format: 'toml',
    made: 0,
    before: 'a = 1\nw = { x = 1 }',
    after: 'a = 1',
  },
  {
    name: 'TOML: comments in an inline container stay',
    format: 'toml',
    made: 0,
    before: 'mcp = {\n  a = 1, # c\n  w = {}, # d\n}\n',
    after: 'mcp = {\n  a = 1, # c\n  # d\n}\n',
  },
  {
    name: 'YAML: a container that was made goes too',
    format: 'yaml',
    made: 1,
    before: 'a: 1\nmcp:\n  w:\n    x: 1 # y\nb: 2\n',
    after: 'a: 1\nb: 2\n',
  },
  {
    name: 'YAML: a container that was there is left empty',
    format: 'yaml',
    made: 0,
    before: 'mcp: # c\n  w:\n    x: 1\nb: 2\n',
    after: 'mcp: {} # c\nb: 2\n',
  },
  {
    name: 'YAML: one of several in a flow mapping',
    format: 'yaml',
    made: 0,
    before: 'mcp: { w: {x: 1}, b: 2 }\n',
    after: 'mcp: { b: 2 }\n',
  },
];

void describe('an entry is taken out and the rest stays as it is', () => {
  for (const { name, format, made, before, after } of removals) {
    const path = before.includes('mcp') ? ['mcp', 'w'] : ['w'];
    void test(name, () =>
      assert.equal((removeEntry(format, before, path, made, loose) as Edited).text, after),
    );
  }
  void test('where it is not there nothing is done', () => {
    for (const [format, text] of [
      ['json', '{}'],
      ['toml', ''],
      ['yaml', 'a: 1\n'],
      ['yaml', ''],
    ] as const)
      assert.deepEqual((removeEntry(format, text, ['mcp', 'w'], 1) as Edited).changes, []);
  });
});

const refused: readonly { name: string; format: Format; before: string; expected: Omit<Refusal, 'ok'> }[] = [
  {
    name: 'JSON: a comment where the client takes none',
    format: 'json',
    before: '{} // c',
    expected: { code: 'syntax_error', why: 'comments are not allowed in this file', line: 1, column: 4 },
  },
  {
    name: 'JSON: an open brace',
    format: 'json',
    before: '{\n',
    expected: { code: 'syntax_error', why: '"}" is missing', line: 2, column: 1 },
  },
  {
    name: 'JSON: a container that is a list',
    format: 'json',
    before: '{ "mcp": [] }',
    expected: { code: 'wrong_type', why: "'mcp' must be an object", line: 1, column: 10 },
  },
  {
    name: 'TOML: the entry is an array of tables',
    format: 'toml',
    before: '[[mcp.w]]\n',
    expected: { code: 'wrong_type', why: "'mcp.w' must be a table", line: 1, column: 1 },
  },
  {
    name: 'TOML: a container that is a string',
    format: 'toml',
    before: 'mcp = "x"\n',
    expected: { code: 'wrong_type', why: "'mcp' must be a table", line: 1, column: 7 },
  },
  {
    name: 'YAML: a part of the old entry is used elsewhere',
    format: 'yaml',
    before: 'mcp:\n  w: &a { x: 1 }\nz: *a\n',
    expected: { code: 'shared_value', why: "a part of 'mcp.w' is used elsewhere", line: 3, column: 4 },
  },
  {
    name: 'YAML: the root is a list',
    format: 'yaml',
    before: '- a\n',
    expected: { code: 'wrong_type', why: 'the file must hold a mapping', line: 1, column: 1 },
  },
];

void describe('a file that cannot be edited is left alone', () => {
  for (const { name, format, before, expected } of refused)
    void test(name, () =>
      assert.deepEqual(setEntry(format, before, ['mcp', 'w'], value), { ok: false, ...expected }),
    );
});
