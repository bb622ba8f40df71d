/** Request bodies: bounded in size, in sum, and in the depth of their JSON, before anything else looks at them. */
import type { IncomingMessage } from 'node:http';
import type { Limits } from './limits.ts';
import { rpc } from './message.ts';
import { refuseRpc } from './refusal.ts';

/** Bytes that are held for bodies over all connections of one gateway. */
export type Budget = { used: number };

/** Reads a JSON body; throws Refusal 413, 415, 503 or 400 (-32700). */
export async function readJson(req: IncomingMessage, limits: Limits, budget: Budget): Promise<unknown> {
  const type = (req.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    throw refuseRpc(415, rpc.refused, 'Unsupported Media Type: Content-Type must be application/json');
  if (req.headers['content-encoding'] !== undefined)
    throw refuseRpc(415, rpc.refused, 'Unsupported Media Type: Content-Encoding is not accepted');
  if (Number(req.headers['content-length'] ?? 0) > limits.bodyBytes) throw tooLarge(limits);
  const bytes = await readBytes(req, limits, budget);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) throw refuseRpc(400, rpc.parse, 'Parse error: the body is not UTF-8');
    throw error;
  }
  if (deeperThan(text, limits.depth))
    throw refuseRpc(400, rpc.parse, `Parse error: nested deeper than ${limits.depth}`);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw refuseRpc(400, rpc.parse, 'Parse error: the body is not JSON');
    throw error;
  }
}

/** By events, not by iteration: leaving an iteration early destroys the connection, and with it the answer. */
function readBytes(req: IncomingMessage, limits: Limits, budget: Budget): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (finish: () => void) => {
      budget.used -= size;
      req.off('data', take).off('end', end).off('close', gone);
      finish();
    };
    const fail = (error: Error) => {
      req.pause();
      settle(() => reject(error));
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      budget.used += chunk.length;
      if (size > limits.bodyBytes) fail(tooLarge(limits));
      else if (budget.used > limits.bodiesBytes)
        fail(refuseRpc(503, rpc.refused, 'too many large requests at once: try again'));
      else chunks.push(chunk);
    };
    const end = () => settle(() => resolve(Buffer.concat(chunks, size)));
    const gone = () => settle(() => reject(new Gone()));
    req.on('data', take).on('end', end).on('close', gone);
    // Always followed by `close`, which says it; without a listener it would end the process.
    req.once('error', () => undefined);
  });
}

/** The client went away before its request was whole: nobody is left to answer. */
export class Gone extends Error {
  override readonly name = 'Gone';
}

const tooLarge = (limits: Limits) =>
  refuseRpc(413, rpc.refused, `Payload Too Large: a body may have at most ${limits.bodyBytes} bytes`);

/** Whether brackets nest deeper than `depth`; strings are skipped. One pass, no recursion. */
export function deeperThan(text: string, depth: number): boolean {
  let level = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x7b || code === 0x5b) {
      level += 1;
      if (level > depth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      level -= 1;
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}
