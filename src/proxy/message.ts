/** One line of JSON-RPC 2.0, judged. */

export type Message =
  | {
      readonly kind: 'request';
      readonly id: string | number;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: RpcError };

/** An error as the protocol carries it. */
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

export const methodNotFound = -32601;
export const internalError = -32603;

/** Deeper JSON is refused: what walks it further on is recursive. */
const maxDepth = 200;

/** Messages of a batch (revision 2025-03-26) that are read. */
const maxBatch = 100;

const quote = 0x22;
const backslash = 0x5c;

type Json = { readonly [key: string]: unknown };

/** Null for what is no message of the protocol. */
export function parseLine(line: Buffer): readonly Message[] | null {
  if (isDeep(line)) return null;
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0 || list.length > maxBatch) return null;
  const messages = list.map(judge);
  return messages.every((message) => message !== null) ? messages : null;
}

function judge(value: unknown): Message | null {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return null;
  const { id, method, params } = value;
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params };
    return typeof id === 'string' || typeof id === 'number' ? { kind: 'request', id, method, params } : null;
  }
  if (method !== undefined || typeof id !== 'number') return null;
  if (Object.hasOwn(value, 'result')) return { kind: 'result', id, result: value['result'] };
  const error = value['error'];
  if (!isObject(error) || typeof error['code'] !== 'number' || typeof error['message'] !== 'string')
    return null;
  return { kind: 'error', id, error: new RpcError(error['code'], error['message'], error['data']) };
}

/** A plain JSON object: neither null nor a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counted on the bytes, because parsing first would build it. */
function isDeep(line: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < line.length; at += 1) {
    const byte = line[at]!;
    if (byte === quote) {
      at = endOfString(line, at + 1);
      if (at === -1) return false;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}

/** Place of the quote that ends a string, -1 if none does. */
function endOfString(line: Buffer, from: number): number {
  for (let at = line.indexOf(quote, from); at !== -1; at = line.indexOf(quote, at + 1)) {
    let escapes = 0;
    while (at - 1 - escapes >= from && line[at - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}
