/** Loopback HTTP for a client without stdio: requests go to the gateway as they are, and wait while it is away. */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import type * as http from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from './options.ts';

// Not imported: an import of node:http loads all of fetch and WebSocket with it, 40 ms of a start.
const { createServer, request } = createRequire(import.meta.url)('node:http') as typeof http;

export type Loopback = {
  readonly target: Target;
  readonly token: string;
  readonly waitMs: number;
  readonly port: number;
};

const bodyLimit = 4 * 1024 * 1024;
const absent = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTDIR']);
const hop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
  'content-length',
]);
const ours = /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Listens on 127.0.0.1; resolves with the port. */
export async function serveLoopback(options: Loopback, log: (text: string) => void): Promise<number> {
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    noDelay: true,
  });
  server.maxConnections = 256;
  const expected = digest(`Bearer ${options.token}`);
  server.on('request', (req, res) => {
    const refusal = judge(req, expected);
    if (refusal) return say(res, ...refusal);
    pass(options, req, res).catch((error: Error) => {
      log(error.message);
      if (res.headersSent) res.destroy();
      else say(res, 502, 'gateway_away', error.message);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', () => resolve());
  });
  return (server.address() as AddressInfo).port;
}

const digest = (text: string) => createHash('sha256').update(text).digest();

type Refusal = [status: number, error: string, message: string];

/** Other users of a shared network namespace reach this port too: it asks for what the gateway asks for. */
function judge(req: http.IncomingMessage, expected: Buffer): Refusal | null {
  if (!ours.test(req.headers.host ?? ''))
    return [403, 'host_not_allowed', 'use the address that the relay printed'];
  if (req.headers.origin !== undefined && !ours.test(req.headers.origin))
    return [403, 'origin_not_allowed', 'pages of other origins may not call this relay'];
  if (!timingSafeEqual(digest(req.headers.authorization ?? ''), expected))
    return [
      401,
      'unauthorized',
      "send the header 'Authorization: Bearer TOKEN' with the value of WRAPTOOL_TOKEN",
    ];
  return null;
}

function say(res: http.ServerResponse, status: number, error: string, message: string): void {
  const data = JSON.stringify({ error, message });
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(data),
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="wraptool"' } : {}),
    connection: 'close',
  });
  res.end(data);
}

async function pass(options: Loopback, req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
  const body = await readBody(req);
  if (body === null) return say(res, 413, 'body_too_large', `a body may have at most ${bodyLimit} bytes`);
  const headers: http.OutgoingHttpHeaders = { host: 'localhost' };
  for (const [name, value] of Object.entries(req.headers)) if (!hop.has(name)) headers[name] = value;
  if (body.length > 0) headers['content-length'] = body.length;
  headers['wraptool-idempotency-key'] = randomUUID();
  const began = performance.now();
  for (let attempt = 1, delay = 25; ; delay = Math.min(delay * 1.6, 200)) {
    headers['wraptool-attempt'] = String(attempt);
    const outcome = await once(options.target, req, { ...headers }, body, res);
    if (outcome === 'done' || res.destroyed) return;
    if (performance.now() - began > options.waitMs)
      throw new Error(`the gateway was not reachable for ${Math.round(options.waitMs / 1000)} s`);
    if (outcome === 'lost') attempt += 1;
    await pause(delay);
  }
}

/** One try: `absent` proves that the gateway saw nothing; `lost` doesn't, the key lets it tell. */
function once(
  target: Target,
  req: http.IncomingMessage,
  headers: http.OutgoingHttpHeaders,
  body: Buffer,
  res: http.ServerResponse,
): Promise<'done' | 'absent' | 'lost'> {
  return new Promise((resolve) => {
    const path = withCwd(req.url ?? '/', target.path);
    const up = request({ ...target, path, method: req.method, headers, agent: false });
    const stop = () => up.destroy();
    res.once('close', stop);
    up.once('response', (answer) => {
      if (answer.statusCode === 503) {
        answer.resume();
        resolve('absent');
        return;
      }
      const kept = Object.fromEntries(
        Object.entries(answer.headers).filter(([name]) => !hop.has(name) || name === 'content-length'),
      );
      res.writeHead(answer.statusCode ?? 502, kept);
      res.flushHeaders();
      answer.pipe(res);
      // Cut off in the middle: the client must see that, not a complete answer.
      answer.once('aborted', () => res.destroy());
      answer.once('close', () => resolve('done'));
    });
    up.once('error', (error: NodeJS.ErrnoException) => {
      res.off('close', stop);
      resolve(absent.has(error.code ?? '') ? 'absent' : 'lost');
    });
    up.end(body);
  });
}

/** A client that names no working directory gets the relay's own. */
function withCwd(url: string, fallback: string): string {
  if (url.includes('?') || url.startsWith('/messages')) return url;
  return url + fallback.slice(fallback.indexOf('?'));
}

async function readBody(req: http.IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
