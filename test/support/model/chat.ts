/** OpenAI's chat completions. */
import { isAside, object, objects, plain, spoken, text } from './read.ts';
import { loadsTools } from './script.ts';
import type { Body, Wire } from './types.ts';

export const chat: Wire = {
  turn: (path) => path.endsWith('/chat/completions'),
  other: (path) =>
    path.endsWith('/models')
      ? {
          status: 200,
          body: { object: 'list', data: [{ id: 'mock', object: 'model', created: 1, owned_by: 'mock' }] },
        }
      : null,
  read: (body) => {
    const messages = objects(body['messages']);
    const assistant = messages.filter((message) => message['role'] === 'assistant');
    const names = new Map(
      assistant.flatMap(callsOf).map((call) => [text(call['id']), text(object(call['function'])['name'])]),
    );
    return {
      model: text(body['model']),
      stream: body['stream'] === true,
      tools: objects(body['tools']).map((tool) => text(object(tool['function'])['name'])),
      results: messages
        .filter((message) => message['role'] === 'tool')
        .map((message) => {
          const id = text(message['tool_call_id']);
          return { id, tool: names.get(id) ?? '', text: plain(message['content']), isError: false };
        }),
      turn: assistant.filter((message) => !onlyLoads(message) && !isAside(plain(message['content']))).length,
    };
  },
  write: (reply, { model, stream, turn, results }) => {
    const id = `call_mock_${turn}_${results.length}`;
    const message =
      'tool' in reply
        ? {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                index: 0,
                id,
                type: 'function',
                function: { name: reply.tool, arguments: JSON.stringify(reply.input) },
              },
            ],
          }
        : { role: 'assistant', content: spoken(reply) };
    const finish = 'tool' in reply ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const about = { id: `chatcmpl_${id}`, created: 1, model };
    if (!stream)
      return {
        status: 200,
        body: {
          ...about,
          object: 'chat.completion',
          choices: [{ index: 0, message, finish_reason: finish }],
          usage,
        },
      };
    const chunk = { ...about, object: 'chat.completion.chunk' };
    return {
      named: false,
      events: [
        { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
        { ...chunk, choices: [], usage },
      ],
      last: '[DONE]',
    };
  },
};

function callsOf(message: Body): Body[] {
  return objects(message['tool_calls']);
}

function onlyLoads(message: Body): boolean {
  const calls = callsOf(message);
  return calls.length > 0 && calls.every((call) => loadsTools(text(object(call['function'])['name'])));
}
