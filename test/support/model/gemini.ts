/** Gemini's generateContent. */
import { isAside, object, objects, plain, spoken, text } from './read.ts';
import { loadsTools } from './script.ts';
import type { Body, Wire } from './types.ts';

const turnPath = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Answers to the questions that the client asks a small model of its own accord, all in one. */
const judgement = {
  reasoning: 'scripted',
  next_speaker: 'user',
  model_choice: 'flash',
  complexity_reasoning: 'scripted',
  complexity_score: 10,
};

export const gemini: Wire = {
  turn: (path) => turnPath.test(path),
  other: (path) => (path.endsWith(':countTokens') ? { status: 200, body: { totalTokens: 10 } } : null),
  read: (body, path) => {
    const contents = objects(body['contents']);
    const parts = contents.flatMap((content) => objects(content['parts']));
    const said = contents.filter((content) => content['role'] === 'model');
    const [, model = '', method = ''] = turnPath.exec(path) ?? [];
    return {
      model,
      stream: method === 'streamGenerateContent',
      tools: objects(body['tools']).flatMap((tool) =>
        objects(tool['functionDeclarations']).map((declared) => text(declared['name'])),
      ),
      results: parts
        .map((part) => object(part['functionResponse']))
        .filter((answer) => text(answer['name']) !== '')
        .map((answer) => {
          const response = object(answer['response']);
          const isError = response['error'] !== undefined;
          const shown = isError ? response['error'] : response['output'];
          return {
            id: text(answer['id']),
            tool: text(answer['name']),
            text: typeof shown === 'string' ? shown : JSON.stringify(response),
            isError,
          };
        }),
      turn: said.filter((content) => !onlyLoads(content) && !isAside(plain(content['parts']))).length,
    };
  },
  write: (reply, { stream }, body) => {
    const wantsJson = object(body['generationConfig'])['responseMimeType'] === 'application/json';
    const part =
      'tool' in reply
        ? { functionCall: { name: reply.tool, args: reply.input } }
        : { text: wantsJson ? JSON.stringify(judgement) : spoken(reply) };
    const answer = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: 'mock',
    };
    return stream ? { named: false, events: [answer] } : { status: 200, body: answer };
  },
};

function onlyLoads(content: Body): boolean {
  const calls = objects(content['parts']).map((part) => object(part['functionCall']));
  return calls.length > 0 && calls.every((call) => loadsTools(text(call['name'])));
}
