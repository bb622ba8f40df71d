/** The least a Node server can do for a call: node:http, JSON, and a raw spawn where asked. Prints its port. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer(async (req, res) => {
  let body = '';
  for await (const chunk of req) body += String(chunk);
  const { id, params } = JSON.parse(body) as { id: number; params?: { name?: string } };
  if (params?.name === 'true')
    await new Promise((resolve) => {
      spawn('/usr/bin/true', { env: {}, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }).on(
        'close',
        resolve,
      );
    });
  const data = JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: { content: [{ type: 'text', text: '' }], isError: false },
  });
  res
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) })
    .end(data);
});
// Longer than any pause of the bench: a connection that is let go in the middle is no figure.
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
