/** What a request of the stateless revision says of itself, in its `_meta` and once more in its headers. */
import type { IncomingMessage } from 'node:http';
import type { Core } from '../core.ts';
import { errorBody, isRecord, rpc } from './message.ts';
import type { Params, Request, RpcId } from './message.ts';
import { Refusal, refuseRpc } from './refusal.ts';
import { statelessVersion } from './session.ts';

export const meta = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client: 'io.modelcontextprotocol/clientInfo',
  server: 'io.modelcontextprotocol/serverInfo',
  level: 'io.modelcontextprotocol/logLevel',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const;

export const metaOf = (params: Params): Params => (isRecord(params['_meta']) ? params['_meta'] : {});

/** Headers and body must say the same: what stands between may route by the headers. Throws Refusal 400. */
export function checkEnvelope(req: IncomingMessage, { id, method, params }: Request, core: Core): void {
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
  checkMirrored(
    req,
    id,
    core.listTools().find((tool) => tool.name === name)?.inputSchema,
    params['arguments'],
  );
}

/** Arguments that a tool's schema wants in a header too (`x-mcp-header`). */
function checkMirrored(req: IncomingMessage, id: RpcId, schema: Params | undefined, args: unknown): void {
  const properties = schema?.['properties'];
  if (!isRecord(properties)) return;
  for (const [property, declared] of Object.entries(properties)) {
    const suffix = isRecord(declared) ? declared['x-mcp-header'] : undefined;
    if (typeof suffix !== 'string' || suffix === '') continue;
    const value = isRecord(args) ? args[property] : undefined;
    const given = decodeHeader(req.headers[`mcp-param-${suffix.toLowerCase()}`]);
    const wanted = value === undefined || value === null ? undefined : plainText(value);
    if (given !== wanted) throw disagree(id, `Mcp-Param-${suffix}`, given, wanted ?? '(nothing)');
  }
}

const plainText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** What isn't plain ASCII stands in a header as `=?base64?…?=`. */
function decodeHeader(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string') return undefined;
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  // Another spelling of the same bytes is none: whoever else reads it may see other bytes.
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : value;
}

export const invalid = (id: RpcId, message: string) =>
  refuseRpc(400, rpc.params, `Invalid params: ${message}`, id);

const mismatch = -32020;
const unsupported = -32022;

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
