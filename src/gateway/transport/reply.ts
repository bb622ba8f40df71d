/** The answer to one POST: JSON where all is quick and quiet, a stream as soon as something is to be told before the end. */
import type { ServerResponse } from 'node:http';
import type { Limits } from './limits.ts';
import { notificationBody, type Params } from './message.ts';
import { sendJson } from './refusal.ts';
import { openStream, type Stream } from './stream.ts';

export interface Reply {
  /** Null where the client takes JSON only. */
  readonly notify: ((method: string, params: Params) => void) | null;
  /** One request's answer. */
  answer(body: unknown): void;
  /** All requests have their answers. */
  end(): void;
}

export type Accepts = { readonly json: boolean; readonly stream: boolean };

/** What the Accept header allows; none means anything. */
export function readAccept(header: string | undefined): Accepts {
  const text = header ?? '*/*';
  const any = text.includes('*/*');
  return {
    json: any || text.includes('application/json') || text.includes('application/*'),
    stream: text.includes('text/event-stream') || text.includes('text/*'),
  };
}

export function createReply(
  res: ServerResponse,
  options: {
    readonly accepts: Accepts;
    readonly batch: boolean;
    readonly limits: Limits;
    readonly headers: Readonly<Record<string, string>>;
  },
): Reply {
  const { accepts, batch, limits, headers } = options;
  const answers: unknown[] = [];
  let stream: Stream | null = null;
  let over = false;
  const patience = accepts.stream ? setTimeout(toStream, accepts.json ? limits.patienceMs : 0) : undefined;
  res.once('close', () => clearTimeout(patience));

  function toStream(): Stream {
    clearTimeout(patience);
    if (stream) return stream;
    stream = openStream(res, limits, headers);
    for (const body of answers.splice(0)) stream.send(body);
    return stream;
  }
  return {
    notify: accepts.stream
      ? (method, params) => {
          if (!over) toStream().offer(notificationBody(method, params));
        }
      : null,
    answer(body) {
      if (stream) stream.send(body);
      else answers.push(body);
    },
    end() {
      over = true;
      clearTimeout(patience);
      if (!stream && !accepts.json) toStream();
      if (stream) stream.close();
      else if (!res.destroyed) sendJson(res, 200, batch ? answers : answers[0], headers);
    },
  };
}
