/** JSON-RPC 2.0 as MCP uses it: shapes, codes, and the strict reading of what came in. */

export type RpcId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export type Request = {
  readonly kind: 'request';
  readonly id: RpcId;
  readonly method: string;
  readonly params: Params;
};
export type Notification = {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: Params;
};
/** A client's answer to a question of the server; this gateway asks none. */
export type Answer = { readonly kind: 'answer' };
export type Message = Request | Notification | Answer;

export const rpc = {
  parse: -32700,
  invalid: -32600,
  unknownMethod: -32601,
  params: -32602,
  internal: -32603,
  refused: -32000,
  noSession: -32001,
  cancelled: -32800,
} as const;

/** An error that answers one request. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const resultBody = (id: RpcId, result: unknown) => ({ jsonrpc: '2.0', id, result });
export const notificationBody = (method: string, params?: unknown) =>
  params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params };
export function errorBody(id: RpcId | null, code: number, message: string, data?: unknown) {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The id of a request; null where it is none that MCP allows. */
export function readId(value: unknown): RpcId | null {
  if (typeof value === 'string') return value.length <= 256 ? value : null;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** One parsed JSON value to a message; throws RpcError -32600. */
export function readMessage(value: unknown): Message {
  if (!isRecord(value)) throw new RpcError(rpc.invalid, 'Invalid Request: a message is a JSON object');
  if (value['jsonrpc'] !== '2.0') throw new RpcError(rpc.invalid, 'Invalid Request: "jsonrpc" must be "2.0"');
  const { method, id, params } = value;
  if (method === undefined && ('result' in value || 'error' in value)) return { kind: 'answer' };
  if (typeof method !== 'string' || method.length > 256)
    throw new RpcError(rpc.invalid, 'Invalid Request: "method" must be a string');
  if (params !== undefined && !isRecord(params))
    throw new RpcError(rpc.invalid, 'Invalid Request: "params" must be an object');
  if (!('id' in value)) return { kind: 'notification', method, params: params ?? {} };
  const known = readId(id);
  if (known === null) throw new RpcError(rpc.invalid, 'Invalid Request: "id" must be a string or an integer');
  return { kind: 'request', id: known, method, params: params ?? {} };
}
