/** The supervisor's half of a gateway's orders: lines of JSON to its stdin, answers and events on its stdout. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { WraptoolError, type ErrorCode } from '../errors.ts';

export type Order = Readonly<Record<string, unknown>> & { readonly do: string };
export type Line = Readonly<Record<string, unknown>>;

type Pending = ReturnType<typeof Promise.withResolvers<Line>>;

export class Orders {
  readonly #input: Writable;
  readonly #pending = new Map<number, Pending>();
  #count = 0;
  #over: WraptoolError | null = null;

  /** `event`: a line that answers no order. */
  constructor(input: Writable, output: Readable, event: (line: Line) => void) {
    this.#input = input;
    // What can't be written has no reader: the end of its output tells.
    input.on('error', () => undefined);
    const lines = createInterface({ input: output });
    lines.on('line', (text) => {
      const line = parse(text);
      if (line === null) return;
      if (typeof line['order'] === 'number') this.#answered(line['order'], line);
      else event(line);
    });
    lines.on('close', () => {
      this.#over = gone();
      for (const { reject } of this.#pending.values()) reject(this.#over);
      this.#pending.clear();
    });
  }

  /** Rejects with the gateway's error, or gateway_failed where it ended first. */
  async give(order: Order): Promise<Line> {
    if (this.#over !== null) throw this.#over;
    this.#count += 1;
    const pending: Pending = Promise.withResolvers();
    this.#pending.set(this.#count, pending);
    this.#input.write(`${JSON.stringify({ order: this.#count, ...order })}\n`);
    return pending.promise;
  }

  #answered(number: number, line: Line): void {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    const error = line['error'] as { code: ErrorCode; message: string } | undefined;
    if (error === undefined) pending?.resolve(line);
    else pending?.reject(new WraptoolError(error.code, error.message));
  }
}

/** Null for what is no answer: the half of a line that it was ended in, or what a library of its own printed. */
function parse(text: string): Line | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Line) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function gone(): WraptoolError {
  return new WraptoolError('gateway_failed', 'the gateway ended before it answered', {
    hint: "read its log in the session's folder",
  });
}
