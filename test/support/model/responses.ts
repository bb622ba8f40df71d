/** OpenAI's responses. */
import { isAside, isType, objects, plain, spoken, text } from './read.ts';
import { loadsTools } from './script.ts';
import type { Body, Wire } from './types.ts';

/** Between the name space of a tool and its name. */
const dot = '.';

export const responses: Wire = {
  turn: (path) => path.endsWith('/responses'),
  other: () => null,
  read: (body) => {
    const items = objects(body['input']);
    const calls = items.filter(isType('function_call'));
    const names = new Map(calls.map((call) => [text(call['call_id']), nameOf(call)]));
    const said = items.filter((item) => item['role'] === 'assistant' && !isAside(plain(item['content'])));
    return {
      model: text(body['model']),
      stream: body['stream'] === true,
      tools: objects(body['tools']).flatMap((tool) =>
        tool['type'] === 'namespace'
          ? objects(tool['tools']).map((inner) => `${text(tool['name'])}${dot}${text(inner['name'])}`)
          : [text(tool['name']) || text(tool['type'])],
      ),
      results: items.filter(isType('function_call_output')).map((item) => {
        const id = text(item['call_id']);
        return { id, tool: names.get(id) ?? '', text: plain(item['output']), isError: false };
      }),
      turn: said.length + calls.filter((call) => !loadsTools(text(call['name']))).length,
    };
  },
  write: (reply, { model, stream, turn, results }) => {
    const unique = `mock_${turn}_${results.length}`;
    const item = 'tool' in reply ? call(reply.tool, reply.input, unique) : message(spoken(reply), unique);
    const about = { id: `resp_${unique}`, object: 'response', created_at: 1, model };
    const done = {
      ...about,
      status: 'completed',
      output: [item],
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 20,
      },
    };
    if (!stream) return { status: 200, body: done };
    const events: Body[] = [
      { type: 'response.created', response: { ...about, status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item },
      ...pieces(item),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: done },
    ];
    return { named: true, events: events.map((event, number) => ({ ...event, sequence_number: number })) };
  },
};

function call(tool: string, input: unknown, unique: string): Body {
  const at = tool.indexOf(dot);
  return {
    type: 'function_call',
    id: `fc_${unique}`,
    call_id: `call_${unique}`,
    name: tool.slice(at + 1),
    ...(at < 0 ? {} : { namespace: tool.slice(0, at) }),
    arguments: JSON.stringify(input),
    status: 'completed',
  };
}

function message(said: string, unique: string): Body {
  return {
    type: 'message',
    id: `msg_${unique}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: said, annotations: [] }],
  };
}

/** The item again, as the stream carries it between its beginning and its end. */
function pieces(item: Body): Body[] {
  const place = { item_id: item['id'], output_index: 0 };
  return item['type'] === 'function_call'
    ? [{ type: 'response.function_call_arguments.done', ...place, arguments: item['arguments'] }]
    : [
        {
          type: 'response.output_text.delta',
          ...place,
          content_index: 0,
          delta: plain(item['content']),
        },
      ];
}

function nameOf(item: Body): string {
  const space = text(item['namespace']);
  return space === '' ? text(item['name']) : `${space}${dot}${text(item['name'])}`;
}
