import { readOptions } from '../options.ts';
import { exchange, type Message } from '../upstream.ts';
import { preflightClient, type Env, type Expected, type Finding } from './types.ts';

const version = '2025-11-25';
const answerMs = 10_000;

/** A client's first words, said as the relay says them. */
export async function checkGateway({ workspace }: Expected, env: Env): Promise<Finding[]> {
  const fault = (detail: string): Finding[] => [
    {
      check: 'gateway',
      level: 'fault',
      detail,
      mend: 'look into its log: gateway.log in the session’s folder',
    },
  ];
  try {
    const { target, token } = readOptions([], env, workspace);
    const signal = AbortSignal.timeout(answerMs);
    const headers = {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    };
    let session: Record<string, string> = {};
    const ask = async (id: number, method: string, params: Message['params']): Promise<Message> => {
      let reply: Message = {};
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const answered = await exchange(target, {
        method: 'POST',
        headers: { ...headers, ...session, 'content-length': String(Buffer.byteLength(body)) },
        body,
        signal,
        onMessage: (message) => {
          if (message.id === id) reply = message;
        },
      });
      const given = answered['mcp-session-id'];
      if (typeof given === 'string') session = { 'mcp-session-id': given, 'mcp-protocol-version': version };
      return reply;
    };
    const client = preflightClient;
    const hello = await ask(1, 'initialize', {
      protocolVersion: version,
      capabilities: {},
      clientInfo: client,
    });
    if (hello.result === undefined) return fault(`it refused to begin: ${JSON.stringify(hello.error)}`);
    const list = await ask(2, 'tools/list', {});
    if (Object.keys(session).length > 0)
      await exchange(target, {
        method: 'DELETE',
        headers: { ...headers, ...session },
        signal,
        onMessage: () => undefined,
      });
    const tools = list.result?.['tools'];
    return Array.isArray(tools) && tools.length > 0 ? [] : fault('it lists no tools');
  } catch (error) {
    return fault(`it does not answer: ${(error as Error).message}`);
  }
}
