/**
 * The stateless revision 2026-07-28: every request says who asks and in which revision; there is no session, and what
 * a client wants to be told of it asks for with `subscriptions/listen`.
 */
import type { IncomingMessage } from 'node:http';
import type { Caller } from '../core.ts';
import { callTool, capabilities, readLevel } from './dispatch.ts';
import { errorBody, isRecord, notificationBody, resultBody, rpc } from './message.ts';
import type { Message, Params, Request, RpcId } from './message.ts';
import { Refusal, refuseRpc } from './refusal.ts';
import { createReply, readAccept } from './reply.ts';
import { clientName, statelessVersion } from './session.ts';
import { openStream } from './stream.ts';
import { faultBody, repeatOf, takeCalls, takeStream, type Exchange } from './wire.ts';

const meta = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client: 'io.modelcontextprotocol/clientInfo',
  server: 'io.modelcontextprotocol/serverInfo',
  level: 'io.modelcontextprotocol/logLevel',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const;

const mismatch = -32020;
const unsupported = -32022;
/** As long as a reload waits for more changes: a list is never older than that. */
const ttlMs = 200;

const metaOf = (params: Params): Params => (isRecord(params['_meta']) ? params['_meta'] : {});

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
  checkEnvelope(req, message);
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
  if (method === 'tools/list') return { tools: wire.core.listTools(), ttlMs, cacheScope: 'private' };
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

/** Headers and body must say the same: what stands between may route by the headers. */
function checkEnvelope(req: IncomingMessage, { id, method, params }: Request): void {
  const said = metaOf(params);
  const version = said[meta.version];
  const header = req.headers['mcp-protocol-version'];
  const missing = [meta.version, meta.capabilities].filter((key) => !(key in said));
  if (missing.length > 0) throw invalid(id, `the request lacks _meta: ${missing.join(', ')}`);
  if (typeof version !== 'string') throw invalid(id, `${meta.version} must be a string`);
  if (!isRecord(said[meta.capabilities])) throw invalid(id, `${meta.capabilities} must be an object`);
  if (header !== undefined && header !== version) throw disagree(id, 'MCP-Protocol-Version', header, version);
  if (version !== statelessVersion) throw unsupportedVersion(id, version);
  if (header === undefined) throw disagree(id, 'MCP-Protocol-Version', undefined, version);
  const named = req.headers['mcp-method'];
  if (named !== method) throw disagree(id, 'Mcp-Method', named, method);
  const name = method === 'tools/call' ? params['name'] : undefined;
  if (typeof name !== 'string') return;
  const plain = decodeHeader(req.headers['mcp-name']);
  if (plain !== name) throw disagree(id, 'Mcp-Name', plain, name);
}

/** What isn't plain ASCII stands in a header as `=?base64?…?=`. */
function decodeHeader(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

const invalid = (id: RpcId, message: string) => refuseRpc(400, rpc.params, `Invalid params: ${message}`, id);

function disagree(id: RpcId, header: string, given: string | string[] | undefined, body: string): Refusal {
  const said =
    given === undefined ? `the header ${header} is missing` : `the header ${header} says '${String(given)}'`;
  return refuseRpc(
    400,
    mismatch,
    `Bad Request: the request headers and body disagree: the body says '${body}', ${said}`,
    id,
  );
}

/** The answer to a revision that is not served here, in the form of the stateless ones. */
export function unsupportedVersion(id: RpcId, requested: string): Refusal {
  const message = `Unsupported protocol version: ${requested} (supported versions: ${statelessVersion})`;
  return new Refusal(400, errorBody(id, unsupported, message, { supported: [statelessVersion], requested }));
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
