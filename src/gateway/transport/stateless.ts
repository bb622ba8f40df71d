/**
 * The stateless revision 2026-07-28: every request says who asks and in which revision; there is no session, and what
 * a client wants to be told of it asks for with `subscriptions/listen`.
 */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../core.ts';
import { callTool, capabilities, readLevel } from './dispatch.ts';
import { checkEnvelope, invalid, meta, metaOf } from './envelope.ts';
import { isRecord, notificationBody, resultBody, rpc } from './message.ts';
import type { Message, Params, Request } from './message.ts';
import { refuseRpc } from './refusal.ts';
import { createReply, readAccept } from './reply.ts';
import { clientName, statelessVersion } from './session.ts';
import { openStream } from './stream.ts';
import { faultBody, repeatOf, takeCalls, takeStream, type Exchange } from './wire.ts';

/** As long as a reload waits for more changes: a list is never older than that. */
const ttlMs = 200;

/** Whether a message belongs to this revision, by what it says or by its header. */
export function isStateless(req: IncomingMessage, message: Message): boolean {
  if (message.kind === 'answer') return false;
  return req.headers['mcp-protocol-version'] === statelessVersion || meta.version in metaOf(message.params);
}

/** Serves one POST of one message; throws Refusal. */
export async function serveStateless(exchange: Exchange, message: Message): Promise<void> {
  const { wire, req, res, query, peerCwd } = exchange;
  if (message.kind !== 'request') {
    res.writeHead(202, { 'content-length': 0 }).end();
    return;
  }
  checkEnvelope(req, message, wire.core);
  if (message.method === 'subscriptions/listen') return subscribe(exchange, message);
  if (!methods.has(message.method))
    throw refuseRpc(404, rpc.unknownMethod, `Method not found: ${message.method}`, message.id);
  const caller = {
    query,
    peerCwd,
    client: clientName(metaOf(message.params)[meta.client]),
    mcpSession: null,
    ...repeatOf(req),
  };
  const release = takeCalls(wire, 1);
  const accepts = readAccept(req.headers.accept);
  const reply = createReply(res, { accepts, batch: false, limits: wire.limits, headers: {} });
  const call = new AbortController();
  // Here, unlike with a session, a client cancels by going away.
  res.once('close', () => call.abort());
  if (res.destroyed) call.abort();
  try {
    const result = await answer(exchange, caller, message, {
      signal: call.signal,
      notify: reply.notify,
      level: readLevel(metaOf(message.params)[meta.level]) ?? 'none',
    });
    reply.answer(resultBody(message.id, complete(exchange, result)));
  } catch (error) {
    reply.answer(faultBody(wire, message, error));
  } finally {
    release();
    reply.end();
  }
}

type Result = { readonly [key: string]: unknown; readonly _meta?: Params };

const methods: ReadonlySet<string> = new Set(['server/discover', 'tools/list', 'tools/call']);

async function answer(
  { wire }: Exchange,
  caller: Caller,
  { method, params }: Request,
  running: Parameters<typeof callTool>[3],
): Promise<Result> {
  if (method === 'tools/call') return callTool(wire.core, caller, params, running);
  if (method === 'tools/list') {
    await wire.core.ready();
    return { tools: wire.core.listTools(caller), ttlMs, cacheScope: 'private' };
  }
  return {
    supportedVersions: [statelessVersion],
    capabilities: capabilities(wire.core),
    instructions: wire.about.instructions,
    ttlMs,
    cacheScope: 'private',
  };
}

function complete({ wire }: Exchange, result: Result, about: Params = {}): object {
  const server = { name: wire.about.name, version: wire.about.version };
  return { ...result, resultType: 'complete', _meta: { ...result._meta, ...about, [meta.server]: server } };
}

/** One long stream per subscription; of what can be listened to, there is only the list of tools. */
function subscribe(exchange: Exchange, { id, params }: Request): void {
  const { wire, res } = exchange;
  const wanted = params['notifications'];
  if (!isRecord(wanted)) throw invalid(id, '"notifications" must be an object');
  const about = { [meta.subscription]: id };
  const honoured = wanted['toolsListChanged'] === true ? { toolsListChanged: true } : {};
  const release = takeStream(wire);
  const stream = openStream(res, wire.limits, {}, () => {
    wire.subscriptions.delete(subscription);
    release();
  });
  const subscription = {
    changed: () => stream.send(notificationBody('notifications/tools/list_changed', { _meta: about })),
    end() {
      stream.send(resultBody(id, complete(exchange, {}, about)));
      stream.close();
    },
  };
  stream.send(
    notificationBody('notifications/subscriptions/acknowledged', { notifications: honoured, _meta: about }),
  );
  if ('toolsListChanged' in honoured) wire.subscriptions.add(subscription);
  else subscription.end();
}
