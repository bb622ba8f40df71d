/**
 * What the suite needs in front of a gateway: it sends no token, and calls tools by their bare names. Everything else,
 * Host and Origin first, passes as it came.
 */
import * as http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export type Front = { readonly url: string; close(): Promise<void> };

/** `prefix` is put before the names of `tools`, and taken off in lists. */
export async function startFront(
  gateway: string,
  { token, prefix, tools }: { token: string; prefix: string; tools: ReadonlySet<string> },
): Promise<Front> {
  const { hostname, port } = new URL(gateway);
  const server = http.createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req.setEncoding('utf8')) body += String(chunk);
    const renamed = rename(body, prefix, tools);
    const named = req.headers['mcp-name'];
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = req.headers;
    const headers: http.OutgoingHttpHeaders = {
      ...rest,
      authorization: `Bearer ${token}`,
      ...(typeof named === 'string' && tools.has(named) ? { 'mcp-name': prefix + named } : {}),
      ...(req.method === 'POST' ? { 'content-length': Buffer.byteLength(renamed) } : {}),
    };
    const onward = http.request({ hostname, port, path: req.url, method: req.method, headers });
    onward.on('error', () => res.destroy());
    onward.on('response', (answer) => {
      const { 'content-length': _ours, ...answerHeaders } = answer.headers;
      res.writeHead(answer.statusCode ?? 500, answerHeaders);
      res.flushHeaders();
      answer.on('data', (chunk: Buffer) =>
        res.write(chunk.toString().replaceAll(`"name":"${prefix}`, '"name":"')),
      );
      answer.on('end', () => res.end());
      answer.on('error', () => res.destroy());
    });
    res.on('close', () => onward.destroy());
    onward.end(renamed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Call = { method?: unknown; params?: { name?: unknown } };

/** A body that is no call of one of the tools passes byte by byte. */
function rename(body: string, prefix: string, tools: ReadonlySet<string>): string {
  if (!body.includes('"tools/call"')) return body;
  const message = JSON.parse(body) as Call;
  const name = message.params?.name;
  if (message.method !== 'tools/call' || typeof name !== 'string' || !tools.has(name)) return body;
  return JSON.stringify({ ...message, params: { ...message.params, name: prefix + name } });
}
