/** The pure parts: lines, messages, names, filter, results. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { judgeTools } from '../../src/proxy/catalog.ts';
import { createLineSplitter } from '../../src/proxy/lines.ts';
import { parseLine, RpcError } from '../../src/proxy/message.ts';
import { checkServerName, nameProblem, parseName, registeredName } from '../../src/proxy/names.ts';
import { canonicalJson, toolDigest } from '../../src/proxy/pin.ts';
import { readResult, scrubStrings } from '../../src/proxy/result.ts';
import { scrub, secret } from './place.ts';

function splitAll(chunks: readonly (Uint8Array | string)[], limit: number, skipLimit = 1_000): string[] {
  const seen: string[] = [];
  const splitter = createLineSplitter(limit, skipLimit, {
    line: (bytes) => seen.push(bytes.toString('latin1')),
    overlong: () => seen.push('<overlong>'),
    endless: () => seen.push('<endless>'),
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk as string));
  splitter.end();
  return seen;
}

void test('lines come out the same however the bytes are cut', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', '{', '"') }).filter((text) => text !== '');
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(30)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
      const chunks: Uint8Array[] = [];
      let from = 0;
      for (const cut of cuts) chunks.push(bytes.subarray(from, (from += cut)));
      chunks.push(bytes.subarray(from));
      const got = splitAll(chunks, 10_000).map((text) => Buffer.from(text, 'latin1').toString());
      assert.deepEqual(got, lines);
    }),
  );
});

void test('a line over the limit is told once and dropped, and the next one is read', () => {
  assert.deepEqual(splitAll(['abcde\nabcdef\nab', 'c', 'def', 'g\nok\n', 'rest'], 5), [
    'abcde',
    '<overlong>',
    '<overlong>',
    'ok',
    'rest',
  ]);
  assert.deepEqual(splitAll([...Array<string>(9).fill('0123456789'), '\nok\n'], 5, 50), [
    '<overlong>',
    '<endless>',
    'ok',
  ]);
});

const messages: readonly (readonly [string, string, unknown])[] = [
  [
    'a request',
    '{"jsonrpc":"2.0","id":"a","method":"ping"}',
    [{ kind: 'request', id: 'a', method: 'ping', params: undefined }],
  ],
  [
    'a notification',
    '{"jsonrpc":"2.0","method":"n","params":{"a":1}}',
    [{ kind: 'notification', method: 'n', params: { a: 1 } }],
  ],
  ['a result, null too', '{"jsonrpc":"2.0","id":1,"result":null}', [{ kind: 'result', id: 1, result: null }]],
  [
    'an error',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}',
    [{ kind: 'error', id: 1, error: new RpcError(-1, 'no', [1]) }],
  ],
  [
    'a batch',
    '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]',
    ['a', 'b'].map((method) => ({ kind: 'notification', method, params: undefined })),
  ],
  ['an empty batch', '[]', null],
  ['a batch in which one is wrong', '[{"jsonrpc":"2.0","method":"a"},1]', null],
  ['another version', '{"jsonrpc":"1.0","id":1,"result":{}}', null],
  ['no version', '{"id":1,"result":{}}', null],
  ['a result without a number', '{"jsonrpc":"2.0","id":"1","result":{}}', null],
  ['a request with null as its id', '{"jsonrpc":"2.0","id":null,"method":"a"}', null],
  ['neither result nor error', '{"jsonrpc":"2.0","id":1}', null],
  ['an error without a code', '{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}', null],
  ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":{},"result":1}', null],
  ['half a message', '{"jsonrpc":"2.0","id":1,', null],
  ['a banner', 'Server listening on stdio', null],
  ['a null byte', '\0', null],
  [
    'nesting of 200',
    nested(199),
    [{ kind: 'result', id: 1, result: JSON.parse('['.repeat(199) + ']'.repeat(199)) as unknown }],
  ],
  ['nesting of over 200', nested(200), null],
  ['nesting that would take a gigabyte', nested(4_000_000), null],
  [
    'brackets in strings are no nesting',
    `{"jsonrpc":"2.0","method":"n","params":{"a":"\\\\\\"${'['.repeat(500)}\\\\"}}`,
    [{ kind: 'notification', method: 'n', params: { a: `\\"${'['.repeat(500)}\\` } }],
  ],
];

function nested(depth: number): string {
  return `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(depth)}${']'.repeat(depth)}}`;
}

for (const [title, line, expected] of messages) {
  void test(`${expected === null ? 'no message' : 'a message'}: ${title}`, () => {
    assert.deepEqual(parseLine(Buffer.from(line)), expected);
  });
}

for (const name of ['tracker', 'a', 'a_b', 'A-1.2', 'x'.repeat(48)])
  void test(`'${name.slice(0, 20)}' can be the name of a server`, () => checkServerName(name));

for (const name of ['', '_a', '-a', '.a', 'a_', 'a__b', 'a/b', 'a b', 'é', 'x'.repeat(49), '..', 'a\n'])
  void test(`'${name.slice(0, 20)}' can't be the name of a server`, () =>
    assert.throws(() => checkServerName(name), { code: 'config_invalid' }));

void test('a registered name is read in one way only', () => {
  const server = fc.stringMatching(/^[ab_]{1,8}$/).filter((name) => {
    try {
      checkServerName(name);
      return true;
    } catch {
      return false;
    }
  });
  fc.assert(
    fc.property(server, fc.stringMatching(/^[ab_]{1,8}$/), (name, tool) =>
      assert.deepEqual(parseName(registeredName(name, tool)), { server: name, tool }),
    ),
  );
});

void test('what no upstream tool can be called is no name', () => {
  assert.deepEqual(['git_push', '__a', '', 'git'].map(parseName), [null, null, null, null]);
  assert.equal(nameProblem('a', 'get_issue'), null);
  assert.match(nameProblem('a', 'get issue')!, /other characters/);
  assert.match(nameProblem('a', 'x'.repeat(128))!, /over 128 long/);
});

const schema = { type: 'object' };

void test('of what is declared only what is allowed by its exact name is looked at, and deny wins', () => {
  const declared = [
    { name: 'b', inputSchema: schema, 'x-unknown': 1 },
    { name: 'a', inputSchema: schema },
    { name: 'A', inputSchema: schema },
    { name: 'a ', inputSchema: schema },
    { name: 'ab', inputSchema: 'broken, and nobody cares' },
    { name: 'denied', inputSchema: schema },
    null,
    7,
    { inputSchema: schema },
  ];
  const filter = { allow: ['b', 'a', 'denied', 'absent'], deny: ['denied', 'other'] };
  assert.deepEqual(judgeTools('s', declared, filter), {
    tools: [declared[1], declared[0]],
    invalid: [],
    missing: ['absent'],
  });
});

const broken: readonly (readonly [string, object, RegExp])[] = [
  ['no schema', {}, /inputSchema/],
  ['a schema of no object', { inputSchema: { type: 'string' } }, /inputSchema/],
  ['an output schema of no object', { inputSchema: schema, outputSchema: [] }, /outputSchema/],
  ['a description that is no text', { inputSchema: schema, description: 1 }, /description/],
  ['a title that is no text', { inputSchema: schema, title: null }, /title/],
  ['annotations that are no object', { inputSchema: schema, annotations: [] }, /annotations/],
];

for (const [title, members, detail] of broken)
  void test(`a tool with ${title} is hidden and named`, () => {
    const { tools, invalid } = judgeTools('s', [{ name: 'a', ...members }], { allow: ['a'], deny: [] });
    assert.deepEqual(tools, []);
    assert.deepEqual(
      invalid.map(({ tool, reason }) => [tool, reason]),
      [['a', 'invalid']],
    );
    assert.match(invalid[0]!.detail, detail);
  });

void test('of a tool that is declared twice neither is offered', () => {
  const declared = [
    { name: 'a', inputSchema: schema, description: 'one' },
    { name: 'a', inputSchema: schema, description: 'other' },
  ];
  const { tools, invalid } = judgeTools('s', declared, { allow: ['a'], deny: [] });
  assert.deepEqual(
    { tools, invalid },
    { tools: [], invalid: [{ tool: 'a', reason: 'invalid', detail: 'it is declared twice' }] },
  );
});

void test('canonical JSON does not depend on the order of members, and tells every difference', () => {
  assert.equal(canonicalJson({ b: [1, { d: 1, c: undefined }], a: null }), '{"a":null,"b":[1,{"d":1}]}');
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const copy = JSON.parse(JSON.stringify(one)) as unknown;
      assert.deepEqual(JSON.parse(canonicalJson(one)), copy);
      const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
      assert.equal(canonicalJson(one) === canonicalJson(other), same);
    }),
  );
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

const pinned = { name: 'a', description: 'd', inputSchema: schema };

for (const [title, change, same] of [
  ['its description', { description: 'd ' }, false],
  ['its schema', { inputSchema: { type: 'object', properties: {} } }, false],
  ['its output schema', { outputSchema: schema }, false],
  ['its title', { title: 't' }, false],
  ['its annotations', { annotations: { readOnlyHint: true } }, false],
  ['what no client shows', { _meta: { a: 1 }, icons: [] }, true],
] as const)
  void test(`${title} ${same ? 'is no part' : 'is a part'} of a tool's digest`, () => {
    assert.equal(toolDigest({ ...pinned, ...change }) === toolDigest(pinned), same);
  });

void test('a malformed result is named', () => {
  for (const answer of [
    null,
    [],
    'text',
    { content: {} },
    { content: ['a'] },
    { content: [{ text: 'a' }] },
    { content: [], isError: 1 },
    { content: [], structuredContent: [] },
  ])
    assert.throws(() => readResult(answer, scrub.scrub), {
      kind: 'protocol',
      message: /^sent a malformed tool result: /,
    });
});

void test('a result without content has none, and unknown members survive', () => {
  assert.deepEqual(readResult({ structuredContent: { a: 1 }, _meta: { b: 2 }, later: [3] }, scrub.scrub), {
    content: [],
    structuredContent: { a: 1 },
    _meta: { b: 2 },
    later: [3],
    isError: false,
  });
});

void test('a value that is a secret by the name of its member is redacted as in text', () => {
  const keyed = (text: string) => text.replace(/("password": ")[^"]+/, '$1[redacted:password]');
  assert.deepEqual(scrubStrings({ user: 'me', password: 'abcdef', list: [{ password: 'x"y' }] }, keyed), {
    user: 'me',
    password: '[redacted:password]',
    // What is left of an unreadable member is nothing.
    list: [{ password: '[redacted]' }],
  });
});

void test('a secret is found under image data that is no base64, and a member called __proto__ survives', () => {
  const value = JSON.parse(`{"type":"image","data":"${secret} !","__proto__":{"a":"${secret}"}}`) as unknown;
  const clean = JSON.stringify(scrubStrings(value, scrub.scrub));
  assert.equal(clean, '{"type":"image","data":"[redacted:SECRET] !","__proto__":{"a":"[redacted:SECRET]"}}');
});
