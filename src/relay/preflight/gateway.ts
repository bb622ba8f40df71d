import { text } from 'node:stream/consumers';
import { readOptions } from '../options.ts';
import { exchange, type Message } from '../upstream.ts';
import { preflightClient, type Env, type Expected, type Finding, type Probe } from './types.ts';

const version = '2025-11-25';
const answerMs = 20_000;

/** The gateway as a client sees it. */
export async function checkGateway({ workspace, probe }: Expected, env: Env): Promise<Finding[]> {
  const reasons = await probeGateway(workspace, probe ?? (await told()), env);
  return reasons.map((detail) => ({
    check: 'gateway',
    level: 'fault',
    detail,
    mend: 'look into its log: gateway.log in the session’s folder',
  }));
}

/** An end without a word: there is no gateway to ask. */
async function told(): Promise<Probe> {
  return JSON.parse(await text(process.stdin)) as Probe;
}

/** A client's first words and one call, said as the relay says them; what was missing, nothing where all is well. */
export async function probeGateway(workspace: string, probe: Probe, env: Env): Promise<string[]> {
  try {
    return await probed(workspace, probe, env);
  } catch (error) {
    return [`it does not answer: ${(error as Error).message}`];
  }
}

async function probed(workspace: string, { tool, config }: Probe, env: Env): Promise<string[]> {
  const { target, token } = readOptions([], env, workspace);
  const signal = AbortSignal.timeout(answerMs);
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  let session: Record<string, string> = {};
  let served: unknown;
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
    served ??= answered['wraptool-config'];
    return reply;
  };
  const clientInfo = preflightClient;
  const hello = await ask(1, 'initialize', { protocolVersion: version, capabilities: {}, clientInfo });
  if (hello.result === undefined) return [`it refused to begin: ${JSON.stringify(hello.error)}`];
  try {
    const list = await ask(2, 'tools/list', {});
    const tools = list.result?.['tools'];
    if (!Array.isArray(tools) || tools.length === 0) return ['it lists no tools'];
    if (served !== config) return ['it serves another config than its supervisor expects'];
    if (!tools.some((one) => (one as { name?: unknown }).name === tool))
      return [`it does not list the tool "${tool}" (supervisor.probe_tool)`];
    const called = await ask(3, 'tools/call', { name: tool, arguments: {} });
    if (called.result !== undefined && called.result['isError'] !== true) return [];
    return [`the tool "${tool}" (supervisor.probe_tool) failed: ${said(called)}`];
  } finally {
    if (Object.keys(session).length > 0)
      await exchange(target, {
        method: 'DELETE',
        headers: { ...headers, ...session },
        signal,
        onMessage: () => undefined,
      });
  }
}

function said({ result, error }: Message): string {
  return JSON.stringify(result?.['content'] ?? error ?? null).slice(0, 300);
}
