/**
 * A model that follows a script, so that a real client can be driven end to end without a key and without a network.
 * It speaks the wires of Anthropic, OpenAI (chat completions and responses) and Gemini, whichever it is asked on.
 *
 *   node test/support/mock-model.ts --listen 127.0.0.1:0 --script FILE [--record FILE]
 *
 * The first line on stdout is `ready URL`. A script is a JSON list of steps, one per turn of the assistant; which
 * one is due is read from the conversation itself, so that a repeated request gets the same answer.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';
import { anthropic } from './model/anthropic.ts';
import { chat } from './model/chat.ts';
import { gemini } from './model/gemini.ts';
import { responses } from './model/responses.ts';
import { decide } from './model/script.ts';
import type { Answer, Body, Recorded, Step, Wire } from './model/types.ts';
import { until } from './until.ts';

export type { Recorded, Step, ToolOutcome } from './model/types.ts';

export type MockModel = {
  readonly url: string;
  readonly requests: readonly Recorded[];
  /** Resolves with the first recorded request, past or future, that satisfies the predicate. */
  until(predicate: (request: Recorded) => boolean): Promise<Recorded>;
  close(): Promise<void>;
};

/** How long an answer waits for the file that its step names. */
const patience = 120_000;

const wires: readonly Wire[] = [anthropic, chat, responses, gemini];

/** Starts the model. `listen` is HOST:PORT, port 0 for any. */
export async function startMockModel(options: {
  readonly listen?: string;
  readonly script: readonly Step[];
  /** Called with each request once its answer is known, before it is sent. */
  readonly record?: (request: Recorded) => void;
}): Promise<MockModel> {
  const requests: Recorded[] = [];
  const waiting = new Set<(request: Recorded) => void>();
  const keep = (request: Recorded): void => {
    requests.push(request);
    options.record?.(request);
    for (const tell of waiting) tell(request);
  };
  const server = http.createServer((request, response) => {
    answer(options.script, request, keep).then(
      (made) => send(response, made),
      (error: unknown) =>
        send(response, {
          status: 400,
          body: { type: 'error', error: { type: 'invalid_request_error', message: String(error) } },
        }),
    );
  });
  const [host = '127.0.0.1', port = '0'] = splitAddress(options.listen ?? '127.0.0.1:0');
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(Number(port), host, resolve),
  );
  const address = server.address() as AddressInfo;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    requests,
    until: (predicate) => {
      const found = requests.find(predicate);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve) => {
        const tell = (request: Recorded): void => {
          if (!predicate(request)) return;
          waiting.delete(tell);
          resolve(request);
        };
        waiting.add(tell);
      });
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function splitAddress(address: string): string[] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), address.slice(at + 1)];
}

async function answer(
  script: readonly Step[],
  request: http.IncomingMessage,
  keep: (request: Recorded) => void,
): Promise<Answer> {
  const body = await read(request);
  const { pathname } = new URL(request.url ?? '/', 'http://mock');
  const wire = wires.find((candidate) => candidate.turn(pathname));
  if (wire === undefined || request.method !== 'POST') {
    const other = wires.map((candidate) => candidate.other(pathname)).find((found) => found !== null);
    return other ?? { status: request.method === 'HEAD' ? 200 : 404, body: {} };
  }
  const asked = JSON.parse(body.toString('utf8')) as Body;
  const conversation = wire.read(asked, pathname);
  const reply = decide(script, conversation);
  const { model, stream, tools, results } = conversation;
  keep({ method: request.method, path: pathname, model, stream, tools, results, reply });
  const awaited = 'when' in reply ? reply.when : undefined;
  if (awaited !== undefined) await until(awaited, () => existsSync(awaited), patience);
  return wire.write(reply, conversation, asked);
}

const unpack: Readonly<Record<string, (packed: Buffer) => Buffer>> = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
};

async function read(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const whole = Buffer.concat(chunks);
  return unpack[request.headers['content-encoding'] ?? '']?.(whole) ?? whole;
}

function send(response: http.ServerResponse, made: Answer): void {
  if ('events' in made) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    for (const event of made.events) {
      if (made.named) response.write(`event: ${String(event['type'])}\n`);
      response.write(`data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(made.last === undefined ? '' : `data: ${made.last}\n\n`);
    return;
  }
  response.writeHead(made.status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(made.body));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { listen: { type: 'string' }, script: { type: 'string' }, record: { type: 'string' } },
  });
  if (values.script === undefined) throw new Error('--script FILE is needed');
  const model = await startMockModel({
    ...(values.listen === undefined ? {} : { listen: values.listen }),
    script: JSON.parse(readFileSync(values.script, 'utf8')) as Step[],
    record: (request) => {
      if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(request)}\n`);
    },
  });
  process.stdout.write(`ready ${model.url}\n`);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void model.close());
}

if (import.meta.main) await main();
