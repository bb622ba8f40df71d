/** MCP over plain node:http, for what the SDK's clients never do: many at once, half a request, gone in the middle. */
import * as http from 'node:http';
import { once } from 'node:events';
import { token } from './support.ts';

const stateless = '2026-07-28';

export type RawClient = {
  /** With a session. Resolves with the body; `id` is what cancels it. */
  call(id: number, name: string, args: object): Promise<string>;
  cancel(id: number): Promise<void>;
  /** Without a session: leaves as soon as the request is out, which cancels the call. */
  abandon(name: string, args: object): Promise<void>;
  /** Opens the standalone stream; `heard` is called for each event that says the tools changed. */
  listen(heard: () => void): Promise<() => void>;
  end(): Promise<void>;
};

export async function rawClient(url: string, query = ''): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const target = { hostname, port, path: `/mcp${query}` };

  function send(body: object, extra: Record<string, string> = {}): http.ClientRequest {
    const text = JSON.stringify({ jsonrpc: '2.0', ...body });
    const length = String(Buffer.byteLength(text));
    const req = http.request({
      ...target,
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': length, ...extra },
    });
    req.end(text);
    return req;
  }
  async function post(body: object): Promise<{ res: http.IncomingMessage; text: string }> {
    const [res] = (await once(send(body), 'response')) as [http.IncomingMessage];
    let text = '';
    for await (const chunk of res.setEncoding('utf8')) text += String(chunk);
    if ((res.statusCode ?? 500) >= 300) throw new Error(`${res.statusCode}: ${text}`);
    return { res, text };
  }
  const first = await post({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {} },
  });
  headers['mcp-session-id'] = String(first.res.headers['mcp-session-id']);

  return {
    call: async (id, name, args) =>
      (await post({ id, method: 'tools/call', params: { name, arguments: args } })).text,
    async cancel(id) {
      await post({ method: 'notifications/cancelled', params: { requestId: id } });
    },
    async abandon(name, args) {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': stateless,
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const req = send(
        { id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } },
        { 'mcp-protocol-version': stateless, 'mcp-method': 'tools/call', 'mcp-name': name },
      );
      req.once('error', () => undefined);
      await once(req, 'finish');
      await new Promise((resolve) => setTimeout(resolve, 20));
      req.destroy();
    },
    async listen(heard) {
      const req = http.request({ ...target, agent: false, headers });
      req.end();
      const [res] = (await once(req, 'response')) as [http.IncomingMessage];
      res.setEncoding('utf8').on('data', (chunk: string) => {
        if (chunk.includes('tools/list_changed')) heard();
      });
      res.on('error', () => undefined);
      return () => req.destroy();
    },
    async end() {
      const req = http.request({ ...target, agent, method: 'DELETE', headers });
      req.end();
      const [res] = (await once(req, 'response')) as [http.IncomingMessage];
      res.resume();
      agent.destroy();
    },
  };
}
