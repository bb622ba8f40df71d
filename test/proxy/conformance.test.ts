/** A server on the reference SDK: every tool that the conformance suite calls, through the proxy. */
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import { listed, place, result, textOf } from './place.ts';

const names = [
  'json_schema_2020_12_tool',
  'test_audio_content',
  'test_custom_headers',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
  'test_embedded_resource',
  'test_error_handling',
  'test_image_content',
  'test_multiple_content_types',
  'test_sampling',
  'test_simple_text',
  'test_tool_with_logging',
  'test_tool_with_progress',
];

async function start(t: test.TestContext, forwards: readonly ('sampling' | 'elicitation')[] = []) {
  const p = await place(t);
  const file = path.join(import.meta.dirname, '../fixtures/mcp/conformance.ts');
  return p.start({ c: p.server([], { args: [file, 'stdio'], allow: names }) }, { forwards });
}

void test('every tool is listed, and its schema is as it was declared', async (t) => {
  const upstreams = await start(t);
  assert.deepEqual(
    await listed(upstreams, 'c'),
    names.map((name) => `c__${name}`),
  );
  const { inputSchema } = upstreams.list()[0]!;
  assert.deepEqual(inputSchema['$defs'], {
    address: {
      $anchor: 'address',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  });
  assert.deepEqual(Object.keys(inputSchema).toSorted(), [
    '$defs',
    '$schema',
    'additionalProperties',
    'allOf',
    'else',
    'if',
    'properties',
    'then',
    'type',
  ]);
});

void test('every kind of content comes through', async (t) => {
  const upstreams = await start(t);
  const kinds = async (tool: string) =>
    (await result(upstreams, `c__${tool}`)).content.map(({ type }) => type);
  assert.deepEqual(await kinds('test_simple_text'), ['text']);
  assert.deepEqual(await kinds('test_image_content'), ['image']);
  assert.deepEqual(await kinds('test_audio_content'), ['audio']);
  assert.deepEqual(await kinds('test_embedded_resource'), ['resource']);
  assert.deepEqual(await kinds('test_multiple_content_types'), ['text', 'image', 'resource']);
  assert.deepEqual(await result(upstreams, 'c__test_error_handling'), {
    content: [{ type: 'text', text: 'This tool intentionally returns an error for testing' }],
    isError: true,
  });
});

void test('progress and log messages come in order', async (t) => {
  const upstreams = await start(t);
  const [progress, messages]: [unknown[], unknown[]] = [[], []];
  await textOf(
    upstreams,
    'c__test_tool_with_progress',
    {},
    { progress: ({ progress: at, total }) => progress.push([at, total]) },
  );
  await textOf(upstreams, 'c__test_tool_with_logging', {}, { message: ({ data }) => messages.push(data) });
  assert.deepEqual(progress, [
    [0, 100],
    [50, 100],
    [100, 100],
  ]);
  assert.deepEqual(messages, ['Tool execution started', 'Tool processing data', 'Tool execution completed']);
});

void test('sampling and elicitation are forwarded where the caller takes them', async (t) => {
  const upstreams = await start(t, ['sampling', 'elicitation']);
  const asked: string[] = [];
  const forward = async ({ method, params }: { method: string; params: unknown }) => {
    asked.push(method);
    if (method === 'sampling/createMessage')
      return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Paris' } };
    const { requestedSchema } = params as { requestedSchema: { properties: object } };
    return { action: 'accept', content: { response: Object.keys(requestedSchema.properties).join(' ') } };
  };
  const ask = (tool: string, args: object) => textOf(upstreams, `c__${tool}`, args, { forward });
  assert.equal(await ask('test_sampling', { prompt: 'Capital?' }), 'LLM response: Paris');
  assert.equal(
    await ask('test_elicitation', { message: 'Well?' }),
    'User response: action=accept, content={"response":"response"}',
  );
  assert.match(await ask('test_elicitation_sep1034_defaults', {}), /"name age score status verified"/);
  assert.match(await ask('test_elicitation_sep1330_enums', {}), /titledMulti/);
  assert.equal(asked.length, 4);
});

void test('sampling and elicitation are refused cleanly where it does not', async (t) => {
  const upstreams = await start(t);
  for (const tool of ['test_sampling', 'test_elicitation'])
    assert.match(
      await textOf(upstreams, `c__${tool}`, { prompt: 'p', message: 'm' }),
      /^error: upstream server 'c' answered with error -32601: .*'(?:sampling\/createMessage|elicitation\/create)' is not supported by this client$/,
    );
  assert.equal(await textOf(upstreams, 'c__test_simple_text'), 'This is a simple text response for testing.');
});
