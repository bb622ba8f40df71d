/** Anthropic's messages. */
import { isAside, isType, list, object, objects, plain, spoken, text } from './read.ts';
import { loadsTools } from './script.ts';
import type { Body, Wire } from './types.ts';

export const anthropic: Wire = {
  turn: (path) => path === '/v1/messages',
  other: (path) => {
    if (path === '/v1/messages/count_tokens') return { status: 200, body: { input_tokens: 10 } };
    if (path === '/v1/models')
      return {
        status: 200,
        body: { data: [{ type: 'model', id: 'mock', display_name: 'Mock' }], has_more: false },
      };
    return null;
  },
  read: (body) => {
    const messages = objects(body['messages']);
    const blocks = messages.flatMap((message) => objects(message['content']));
    const names = new Map(
      blocks.filter(isType('tool_use')).map((block) => [text(block['id']), text(block['name'])]),
    );
    const assistant = messages.filter((message) => message['role'] === 'assistant');
    return {
      model: text(body['model']),
      stream: body['stream'] === true,
      tools: list(body['tools']).map((tool) => text(object(tool)['name'])),
      results: blocks.filter(isType('tool_result')).map((block) => ({
        id: text(block['tool_use_id']),
        tool: names.get(text(block['tool_use_id'])) ?? '',
        text: plain(block['content']),
        isError: block['is_error'] === true,
      })),
      turn: assistant.filter((message) => !onlyLoads(message) && !isAside(plain(message['content']))).length,
    };
  },
  write: (reply, { model, stream, turn, results }) => {
    // A client joins messages of one id, so each turn needs its own.
    const unique = `${turn}_${results.length}`;
    const block =
      'tool' in reply
        ? { type: 'tool_use', id: `toolu_mock_${unique}`, name: reply.tool, input: reply.input }
        : { type: 'text', text: spoken(reply) };
    const stop = block.type === 'tool_use' ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: 10, output_tokens: 10 };
    const message = {
      id: `msg_mock_${unique}`,
      type: 'message',
      role: 'assistant',
      model,
      stop_sequence: null,
      usage,
    };
    if (!stream) return { status: 200, body: { ...message, content: [block], stop_reason: stop } };
    const delta =
      'input' in block
        ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
        : { type: 'text_delta', text: block.text };
    const empty = 'input' in block ? { ...block, input: {} } : { ...block, text: '' };
    return {
      named: true,
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: empty },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: stop, stop_sequence: null },
          usage: { output_tokens: 10 },
        },
        { type: 'message_stop' },
      ],
    };
  },
};

/** A turn that only loads tools is none of the script's. */
function onlyLoads(message: Body): boolean {
  const blocks = objects(message['content']);
  return blocks.length > 0 && blocks.every((block) => loadsTools(text(block['name'])));
}
