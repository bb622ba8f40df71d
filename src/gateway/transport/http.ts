/** Streamable HTTP for the session-based revisions: POST, GET and DELETE on /mcp. */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../core.ts';
import { readJson } from './body.ts';
import { answer, initializeResult, negotiate, notice, tracked } from './dispatch.ts';
import {
  errorBody,
  notificationBody,
  readMessage,
  resultBody,
  rpc,
  RpcError,
  type Message,
  type Request,
} from './message.ts';
import { refuse, refuseRpc, sendJson } from './refusal.ts';
import { createReply, readAccept, type Reply } from './reply.ts';
import { statelessVersion, versions, type Session } from './session.ts';
import { openStream } from './stream.ts';
import { isStateless, serveStateless } from './stateless.ts';
import { faultBody, repeatOf, takeCalls, takeStream, type Exchange, type Wire } from './wire.ts';

/** Serves one admitted request on /mcp; throws Refusal. */
export async function serveHttp(exchange: Exchange): Promise<void> {
  const { req } = exchange;
  if (req.method !== 'POST' && req.headers['mcp-protocol-version'] === statelessVersion)
    throw refuse(405, 'method_not_allowed', 'this revision has only POST', 'use subscriptions/listen', {
      allow: 'POST',
    });
  switch (req.method) {
    case 'POST':
      return post(exchange);
    case 'GET':
      return listen(exchange);
    case 'DELETE':
      return end(exchange);
    default:
      throw refuse(
        405,
        'method_not_allowed',
        `${req.method ?? ''} is not served here`,
        'use POST, GET or DELETE',
        {
          allow: 'POST, GET, DELETE',
        },
      );
  }
}

async function post(exchange: Exchange): Promise<void> {
  const { wire, req, res } = exchange;
  const accepts = readAccept(req.headers.accept);
  if (!accepts.json && !accepts.stream)
    throw refuseRpc(
      406,
      rpc.refused,
      'Not Acceptable: Client must accept both application/json and text/event-stream',
    );
  const body = await readJson(req, wire.limits, wire.budget);
  const messages = readBatch(body, wire);
  if (messages.some((message) => isStateless(req, message)))
    return serveStateless(exchange, only(messages, Array.isArray(body)));
  checkVersion(req);
  const requests = messages.filter((message) => message.kind === 'request');
  const session = sessionFor(exchange, messages, requests);
  const headers = headersFor(wire, session, requests);
  if (session) for (const message of messages) if (message.kind === 'notification') notice(session, message);
  if (requests.length === 0) {
    res.writeHead(202, { ...headers, 'content-length': 0 }).end();
    return;
  }
  const release = takeCalls(wire, requests.length);
  const reply = createReply(res, { accepts, batch: Array.isArray(body), limits: wire.limits, headers });
  const caller = callerOf(exchange, session);
  try {
    await Promise.all(requests.map((request) => answerOne(wire, session, caller, request, reply)));
  } finally {
    release();
    reply.end();
  }
}

function headersFor(
  { core }: Wire,
  session: Session | null,
  requests: readonly Request[],
): Record<string, string> {
  if (!session) return {};
  const opening = requests.some(({ method }) => method === 'initialize');
  if (!opening) return { 'mcp-session-id': session.id };
  // Tells our relay that a call sent again under the same key is not run twice, and a probe which config is served.
  return {
    'mcp-session-id': session.id,
    'wraptool-repeat': 'by-key',
    'wraptool-config': core.configHash(),
  };
}

/** Before the session is looked at: a client that probes for a newer revision must learn which ones there are. */
function checkVersion(req: IncomingMessage): void {
  const version = req.headers['mcp-protocol-version'];
  if (version === undefined || versions.some((known) => known === version)) return;
  throw refuseRpc(
    400,
    rpc.refused,
    `Bad Request: Unsupported protocol version: ${String(version)} (supported versions: ${[statelessVersion, ...versions].join(', ')})`,
  );
}

/** A message of the stateless revision stands alone. */
function only(messages: readonly Message[], isBatch: boolean): Message {
  const [message] = messages;
  if (!message || isBatch) throw refuseRpc(400, rpc.invalid, 'Invalid Request: this revision has no batches');
  return message;
}

function readBatch(body: unknown, wire: Wire): Message[] {
  const values: unknown[] = Array.isArray(body) ? body : [body];
  if (values.length === 0 || values.length > wire.limits.batch)
    throw refuseRpc(400, rpc.invalid, `Invalid Request: a batch has 1 to ${wire.limits.batch} messages`);
  try {
    return values.map(readMessage);
  } catch (error) {
    if (error instanceof RpcError) throw refuseRpc(400, error.code, error.message);
    throw error;
  }
}

/** The session a POST belongs to: a new one for `initialize`, none for a probe that needs none. */
function sessionFor(
  { wire, req }: Exchange,
  messages: readonly Message[],
  requests: readonly Request[],
): Session | null {
  const first = requests.find(({ method }) => method === 'initialize');
  if (first) {
    if (messages.length > 1)
      throw refuseRpc(
        400,
        rpc.invalid,
        'Invalid Request: Only one initialization request is allowed',
        first.id,
      );
    return newSession(wire, first);
  }
  if (
    req.headers['mcp-session-id'] === undefined &&
    requests.some(({ method }) => method === 'server/discover')
  )
    return null;
  return knownSession(wire, req);
}

function newSession(wire: Wire, request: Request): Session {
  try {
    const { version, client } = negotiate(request.params);
    return wire.sessions.open(version, client) ?? full();
  } catch (error) {
    if (error instanceof RpcError) throw refuseRpc(400, error.code, error.message, request.id);
    throw error;
  }
}

function knownSession(wire: Wire, req: IncomingMessage): Session {
  const id = req.headers['mcp-session-id'];
  if (typeof id !== 'string')
    throw refuseRpc(400, rpc.refused, 'Bad Request: Mcp-Session-Id header is required');
  const session = wire.sessions.find(id);
  if (session === 'full') return full();
  // 404 and no other status makes clients begin a new session.
  if (!session) throw refuseRpc(404, rpc.noSession, 'Session not found');
  return session;
}

function full(): never {
  throw refuseRpc(503, rpc.refused, 'too many MCP sessions are open: end some, or try again');
}

function callerOf({ req, query, peerCwd }: Exchange, session: Session | null): Caller {
  return {
    query,
    peerCwd,
    client: session?.client ?? 'unknown',
    mcpSession: session?.id ?? null,
    ...repeatOf(req),
  };
}

async function answerOne(
  wire: Wire,
  session: Session | null,
  caller: Caller,
  request: Request,
  reply: Reply,
): Promise<void> {
  const call = new AbortController();
  const work = async () =>
    answer(wire.core, caller, request, {
      signal: call.signal,
      notify: reply.notify,
      level: session?.level ?? 'none',
    });
  try {
    if (request.method === 'initialize') {
      reply.answer(resultBody(request.id, initializeResult(session?.version ?? versions[0], wire)));
      return;
    }
    const result = session ? await tracked(session, request, call, work) : await work();
    reply.answer(call.signal.aborted ? cancelledBody(request) : resultBody(request.id, result));
  } catch (error) {
    if (call.signal.aborted) reply.answer(cancelledBody(request));
    else reply.answer(faultBody(wire, request, error));
  }
}

const cancelledBody = (request: Request) => errorBody(request.id, rpc.cancelled, 'the call was cancelled');

/** The standalone stream: `tools/list_changed` and keep-alive comments. */
function listen({ wire, req, res }: Exchange): void {
  if (!readAccept(req.headers.accept).stream)
    throw refuseRpc(406, rpc.refused, 'Not Acceptable: Client must accept text/event-stream');
  checkVersion(req);
  const session = knownSession(wire, req);
  const release = takeStream(wire);
  // A stream whose reader vanished may still look open: the oldest makes room.
  while (session.streams.length >= wire.limits.streamsPerSession) session.streams[0]?.close();
  const stream = openStream(res, wire.limits, { 'mcp-session-id': session.id }, () => {
    release();
    session.streams.splice(session.streams.indexOf(stream), 1);
    session.usedAt = performance.now();
  });
  session.streams.push(stream);
  if (session.stale) tellChanged(session);
}

/** Tells a session that the tools differ, now or at its next stream. */
export function tellChanged(session: Session): void {
  const stream = session.streams.at(-1);
  session.stale = stream === undefined;
  stream?.send(notificationBody('notifications/tools/list_changed'));
}

function end({ wire, req, res }: Exchange): void {
  checkVersion(req);
  wire.sessions.end(knownSession(wire, req));
  sendJson(res, 200, {});
}
