/** Legacy HTTP+SSE (2024-11-05): GET /sse is the session, POST /messages?sessionId= brings its requests. */
import { readJson } from './body.ts';
import { answer, initializeResult, negotiate, notice, tracked } from './dispatch.ts';
import { notificationBody, readMessage, resultBody, rpc, RpcError, type Request } from './message.ts';
import { refuse, refuseRpc } from './refusal.ts';
import type { Session } from './session.ts';
import { openStream, type Stream } from './stream.ts';
import { faultBody, takeCalls, takeStream, type Exchange } from './wire.ts';

const only = (allow: string) =>
  refuse(405, 'method_not_allowed', `only ${allow} is served here`, 'use /mcp for Streamable HTTP', {
    allow,
  });

/** GET /sse. Streamable-first clients POST here and fall back on the 405. */
export function serveSse({ wire, req, res, query }: Exchange): void {
  if (req.method !== 'GET') throw only('GET');
  const session = wire.sessions.open('2024-11-05', 'sse');
  if (!session) throw refuseRpc(503, rpc.refused, 'too many MCP sessions are open: end some, or try again');
  const release = takeStream(wire);
  const stream = openStream(res, wire.limits, {}, () => {
    release();
    wire.sessions.end(session);
  });
  session.streams.push(stream);
  // The query goes along raw: what it says about the working directory is judged at each call.
  stream.event('endpoint', `/messages?${query === '' ? '' : `${query}&`}sessionId=${session.id}`);
}

/** POST /messages. */
export async function serveMessages(exchange: Exchange, sessionId: string | null): Promise<void> {
  const { wire, req, res } = exchange;
  if (req.method !== 'POST') throw only('POST');
  const session = sessionId === null ? null : wire.sessions.find(sessionId);
  const stream = session === 'full' ? undefined : session?.streams.at(-1);
  if (!session || session === 'full' || !stream) throw refuseRpc(404, rpc.noSession, 'Session not found');
  const message = await read(exchange);
  if (message.kind === 'request') {
    const release = takeCalls(wire, 1);
    respond(exchange, session, stream, message).finally(release).catch(wire.fault);
  } else if (message.kind === 'notification') {
    notice(session, message);
  }
  res.writeHead(202, { 'content-type': 'text/plain', 'content-length': 8 }).end('Accepted');
}

async function read({ wire, req }: Exchange) {
  try {
    return readMessage(await readJson(req, wire.limits, wire.budget));
  } catch (error) {
    if (error instanceof RpcError) throw refuseRpc(400, error.code, error.message);
    throw error;
  }
}

async function respond(
  { wire, query, peerCwd }: Exchange,
  session: Session,
  stream: Stream,
  request: Request,
): Promise<void> {
  const call = new AbortController();
  const caller = { query, peerCwd, client: session.client, mcpSession: session.id };
  try {
    const result =
      request.method === 'initialize'
        ? initializeResult(negotiate(request.params).version, wire)
        : await tracked(session, request, call, () =>
            answer(wire.core, caller, request, {
              signal: call.signal,
              level: session.level,
              notify: (method, params) => stream.offer(notificationBody(method, params)),
            }),
          );
    stream.send(resultBody(request.id, result));
  } catch (error) {
    stream.send(faultBody(wire, request, error));
  }
}
