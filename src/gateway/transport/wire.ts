/** What every endpoint of one gateway shares. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, Core } from '../core.ts';
import type { Budget } from './body.ts';
import type { About } from './dispatch.ts';
import type { Limits } from './limits.ts';
import { errorBody, rpc, RpcError, type Request } from './message.ts';
import { refuseRpc } from './refusal.ts';
import type { Sessions } from './session.ts';

/** A listener for changes that no session stands for. */
export type Subscription = { changed(): void; end(): void };

export type Wire = {
  readonly core: Core;
  readonly about: About;
  readonly limits: Limits;
  readonly sessions: Sessions;
  readonly subscriptions: Set<Subscription>;
  readonly budget: Budget;
  /** Streams and calls that are open, over all sessions. */
  readonly open: { streams: number; calls: number };
  /** Another gateway has taken the address: every answer closes its connection. */
  leaving: boolean;
  /** A fault of the gateway itself, for its operator. */
  readonly fault: (error: unknown) => void;
};

/** One admitted request. */
export type Exchange = {
  readonly wire: Wire;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly query: string;
  readonly peerCwd: Caller['peerCwd'];
};

/** Takes a place for a stream; throws Refusal 503. Returns its release. */
export function takeStream({ open, limits }: Wire): () => void {
  if (open.streams >= limits.streams)
    throw refuseRpc(503, rpc.refused, 'too many streams are open: close some, or try again');
  open.streams += 1;
  return () => {
    open.streams -= 1;
  };
}

/** Takes places for calls; throws Refusal 503. Returns their release. */
export function takeCalls({ open, limits }: Wire, count: number): () => void {
  if (open.calls + count > limits.calls)
    throw refuseRpc(503, rpc.refused, 'too many calls at once: try again');
  open.calls += count;
  return () => {
    open.calls -= count;
  };
}

const keyShape = /^[A-Za-z0-9._-]{8,64}$/;

/** What a client says of a call that it sends again. */
export function repeatOf(req: IncomingMessage): Pick<Caller, 'repeat'> {
  const key = req.headers['wraptool-idempotency-key'];
  const attempt = Number(req.headers['wraptool-attempt'] ?? 1);
  return typeof key === 'string' && keyShape.test(key) && Number.isSafeInteger(attempt)
    ? { repeat: { key, attempt } }
    : {};
}

/** An error that is not the client's is said to be ours, without its insides. */
export function faultBody(wire: Wire, request: Request, error: unknown): unknown {
  if (error instanceof RpcError) return errorBody(request.id, error.code, error.message, error.data);
  wire.fault(error);
  return errorBody(
    request.id,
    rpc.internal,
    'Internal error: a fault of the gateway itself; its operator finds it in its log',
  );
}
