/** What every endpoint of one gateway shares. */
import type { Core } from '../core.ts';
import type { Budget } from './body.ts';
import type { About } from './dispatch.ts';
import type { Limits } from './limits.ts';
import { rpc } from './message.ts';
import { refuseRpc } from './refusal.ts';
import type { Sessions } from './session.ts';

export type Wire = {
  readonly core: Core;
  readonly about: About;
  readonly limits: Limits;
  readonly sessions: Sessions;
  readonly budget: Budget;
  /** Streams and calls that are open, over all sessions. */
  readonly open: { streams: number; calls: number };
  /** A fault of the gateway itself, for its operator. */
  readonly fault: (error: unknown) => void;
};

/** Takes a place for a stream; throws Refusal 503. Returns its release. */
export function takeStream(wire: Wire): () => void {
  if (wire.open.streams >= wire.limits.streams)
    throw refuseRpc(503, rpc.refused, 'too many streams are open: close some, or try again');
  wire.open.streams += 1;
  return () => {
    wire.open.streams -= 1;
  };
}
