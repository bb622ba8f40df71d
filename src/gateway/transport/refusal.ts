/** What is said to a client that is turned away before MCP begins. */
import type { ServerResponse } from 'node:http';
import { errorBody, type RpcId } from './message.ts';

/** An HTTP answer that ends the request. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`refused with ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** A refusal outside MCP: `error` is a stable word, `message` and `hint` are for whoever reads the client's log. */
export function refuse(
  status: number,
  error: string,
  message: string,
  hint: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  return new Refusal(status, { error, message, hint }, headers);
}

/** A refusal in the form that MCP clients read. */
export function refuseRpc(status: number, code: number, message: string, id: RpcId | null = null): Refusal {
  return new Refusal(status, errorBody(id, code, message));
}

export function sendJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const data = Buffer.from(JSON.stringify(body));
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': data.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  res.end(data);
}
