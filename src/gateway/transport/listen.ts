/** The listeners of one gateway: TCP and Unix socket, one gate, one table of sessions. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { connect, type AddressInfo, type Socket } from 'node:net';
import * as fs from 'node:fs';
import path from 'node:path';
import { WraptoolError } from '../../errors.ts';
import type { Core } from '../core.ts';
import type { Peers } from '../peer.ts';
import { Gone } from './body.ts';
import type { About } from './dispatch.ts';
import { createGate, type Door, type Gate } from './gate.ts';
import { serveHttp, tellChanged } from './http.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { Refusal, refuse, sendJson } from './refusal.ts';
import { createSessions } from './session.ts';
import { serveMessages, serveSse } from './sse.ts';
import type { Exchange, Wire } from './wire.ts';

// Not imported: an import of node:http loads all of fetch and WebSocket with it, 40 ms of a start.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

export type ListenOptions = {
  readonly core: Core;
  readonly token: string;
  readonly about: About;
  readonly tcp: { readonly host: string; readonly port: number } | null;
  readonly socket: {
    readonly path: string;
    readonly owner?: { readonly uid: number; readonly gid: number };
  } | null;
  /** Absent: peers of the socket are not looked at. */
  readonly peers?: Peers;
  readonly limits?: Partial<Limits>;
  readonly fault: (error: unknown) => void;
};

export interface Listening {
  readonly url: string | null;
  readonly socket: string | null;
  /** Takes no more requests, gives calls in flight `graceMs`, then ends all. */
  close(graceMs?: number): Promise<void>;
  /**
   * Another gateway has taken the address. Streams end, so that their clients open them there; what was accepted is
   * answered, and each answer closes its connection. Resolves when nobody is connected, or only the silent.
   */
  leave(): Promise<void>;
}

/** Listens; throws WraptoolError address_in_use or gateway_failed. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const limits = { ...defaultLimits, ...options.limits };
  const wire: Wire = {
    core: options.core,
    about: options.about,
    limits,
    sessions: createSessions(options.token, limits),
    subscriptions: new Set(),
    budget: { used: 0 },
    open: { streams: 0, calls: 0 },
    leaving: false,
    fault: options.fault,
  };
  const gate = createGate(options.token, limits);
  const servers: Server[] = [];
  try {
    let url: string | null = null;
    if (options.tcp) {
      const server = makeServer(wire, gate, { kind: 'tcp', host: options.tcp.host });
      await listenTcp(server, options.tcp);
      servers.push(server);
      url = urlOf(server.address() as AddressInfo);
    }
    if (options.socket) {
      const server = makeServer(wire, gate, { kind: 'unix' }, options.peers);
      await listenUnix(server, options.socket);
      servers.push(server);
    }
    return running(wire, servers, url, options.socket?.path ?? null);
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
}

function running(
  wire: Wire,
  servers: readonly Server[],
  url: string | null,
  socket: string | null,
): Listening {
  const release = wire.core.onToolsChanged(() => {
    for (const session of wire.sessions.all()) tellChanged(session);
    for (const subscription of wire.subscriptions) subscription.changed();
  });
  const sweep = setInterval(() => wire.sessions.sweep(performance.now()), 60_000).unref();
  return {
    url,
    socket,
    async leave() {
      wire.leaving = true;
      if (socket !== null) await acceptAll(socket);
      for (const subscription of [...wire.subscriptions]) subscription.end();
      // A client that is about to use a connection which it kept open must not find it closed.
      const linger = performance.now() + lingerMs;
      // What is begun is waited for; a connection that is kept open for more later would keep this gateway.
      while (wire.open.calls > 0 || (performance.now() < linger && (await connections(servers)) > 0)) {
        // With a stream may end what its session runs.
        for (const session of [...wire.sessions.all()])
          if (session.running.size === 0) for (const stream of [...session.streams]) stream.close();
        if (performance.now() >= linger) for (const server of servers) server.closeIdleConnections();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close(graceMs = 0) {
      release();
      clearInterval(sweep);
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      await idle(wire, graceMs);
      for (const session of [...wire.sessions.all()]) wire.sessions.end(session);
      for (const subscription of [...wire.subscriptions]) subscription.end();
      for (const server of servers) server.closeAllConnections();
      await Promise.all(closed);
    },
  };
}

const lingerMs = 2_000;

/** The kernel's queue is first in, first out: when this connection is answered, all before it were taken from it. */
function acceptAll(socket: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const last = connect(socket, () => last.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'));
    last.once('error', reject);
    last.once('close', () => resolve());
    last.resume();
  });
}

async function connections(servers: readonly Server[]): Promise<number> {
  const counts = servers.map(
    (server) =>
      new Promise<number>((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function idle(wire: Wire, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  while (wire.open.calls > 0 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

function makeServer(wire: Wire, gate: Gate, door: Door, peers?: Peers): Server {
  const { limits } = wire;
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleConnectionMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs),
    noDelay: true,
  });
  // Node drops headers beyond its own maximum silently; the gate counts and refuses instead.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.connections;
  // Silence is fine while a call runs; unread bytes of ours are memory that a client holds.
  server.setTimeout(limits.stallMs, (socket: Socket) => {
    if (socket.writableLength > 0) socket.destroy();
  });
  const handle = (req: IncomingMessage, res: ServerResponse, expects: boolean) => {
    const peerCwd = async () => (peers ? await peers.cwd(req.socket) : null);
    serve(wire, gate, door, { req, res, peerCwd }, expects).catch((error: unknown) =>
      turnAway(wire, req, res, error),
    );
  };
  server.on('request', (req, res) => handle(req, res, false));
  // Without this, Node would ask for the body before the token was looked at.
  server.on('checkContinue', (req, res) => handle(req, res, true));
  return server;
}

async function serve(
  wire: Wire,
  gate: Gate,
  door: Door,
  { req, res, peerCwd }: Pick<Exchange, 'req' | 'res' | 'peerCwd'>,
  expects: boolean,
): Promise<void> {
  if (wire.leaving) res.setHeader('connection', 'close');
  const target = gate(req, door);
  if (target.kind === 'health') return health(req, res);
  if (target.kind === 'nothing')
    throw refuse(404, 'not_found', 'there is nothing at this path', 'MCP is served at /mcp (legacy: /sse)');
  if (expects) res.writeContinue();
  const exchange = { wire, req, res, peerCwd, query: target.query };
  if (target.path === '/mcp') return serveHttp(exchange);
  if (target.path === '/sse') return serveSse(exchange);
  return serveMessages(exchange, target.sessionId);
}

function health(req: IncomingMessage, res: ServerResponse): void {
  if (req.method !== 'GET' && req.method !== 'HEAD')
    throw refuse(405, 'method_not_allowed', 'only GET is served here', 'use GET', { allow: 'GET' });
  sendJson(res, 200, { status: 'ok' });
}

/** Answers a refused request. Its body is never read; a small one is skipped so that the connection can go on. */
function turnAway(wire: Wire, req: IncomingMessage, res: ServerResponse, error: unknown): void {
  if (error instanceof Gone) return;
  let refusal: Refusal;
  if (error instanceof Refusal) refusal = error;
  else {
    wire.fault(error);
    refusal = refuse(500, 'internal', 'a fault of the gateway itself', 'its operator finds it in its log');
  }
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const small =
    req.complete ||
    (req.headers.expect === undefined &&
      req.headers['transfer-encoding'] === undefined &&
      Number(req.headers['content-length'] ?? 0) <= 64 * 1024);
  sendJson(
    res,
    refusal.status,
    refusal.body,
    small ? refusal.headers : { ...refusal.headers, connection: 'close' },
  );
}

function listenTcp(server: Server, tcp: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new WraptoolError('address_in_use', `something listens on ${tcp.host}:${tcp.port} already`, {
              hint: "stop it, or set 'mcp.listen' to another port (0 takes a free one)",
              cause: error,
            })
          : new WraptoolError(
              'gateway_failed',
              `cannot listen on ${tcp.host}:${tcp.port}: ${error.message}`,
              {
                hint: "check 'mcp.listen'",
                cause: error,
              },
            ),
      ),
    );
    server.listen({ host: tcp.host, port: tcp.port }, () => resolve());
  });
}

async function listenUnix(server: Server, socket: NonNullable<ListenOptions['socket']>): Promise<void> {
  const folder = path.dirname(socket.path);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode, uid } = fs.statSync(folder);
  if ((mode & 0o077) !== 0 || (uid !== process.getuid?.() && uid !== socket.owner?.uid))
    throw new WraptoolError('unsafe_location', `others can reach the folder of the socket '${socket.path}'`, {
      hint: `chmod 700 '${folder}', or choose a folder of its own for 'mcp.socket'`,
    });
  await removeStale(socket.path);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new WraptoolError('gateway_failed', `cannot listen on '${socket.path}': ${error.message}`, {
          hint: "check 'mcp.socket'",
          cause: error,
        }),
      ),
    );
    // Inaccessible from its first moment: the socket is made before `listen` returns.
    const mask = process.umask(0o177);
    server.listen(socket.path, () => resolve());
    process.umask(mask);
  });
  if (socket.owner && process.getuid?.() === 0)
    fs.lchownSync(socket.path, socket.owner.uid, socket.owner.gid);
}

/** Removes what a killed gateway left; a live one, or anything that is no socket, is refused. */
async function removeStale(file: string): Promise<void> {
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket() || (await answers(file)))
    throw new WraptoolError('address_in_use', `'${file}' is in use`, {
      hint: found.isSocket()
        ? 'stop the gateway that listens there'
        : 'it is no socket: remove it, or choose another path',
    });
  fs.unlinkSync(file);
}

function answers(file: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect(file);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? resolve(false) : reject(error),
    );
  });
}

function urlOf(address: AddressInfo): string {
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}/mcp`;
}
