/**
 * A stdio MCP server for the client, a Streamable HTTP client towards a gateway that may go away and come back. The
 * client never learns of it: its messages wait, its MCP session is taken up again or made anew with its own words.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Writer } from './lines.ts';
import type { Options } from './options.ts';
import { Away, exchange, Lost, Refused, type Message } from './upstream.ts';

export interface Bridge {
  /** Takes one line of the client; null stands for one that was too long. Resolves when more may be read. */
  take(line: string | null): Promise<void>;
  /** Ends the MCP session. */
  close(): Promise<void>;
}

const mostWaiting = 512;
const listChanged = 'notifications/tools/list_changed';
/** Messages whose effect lives in the session, repeated in a new one. */
const remembered = /^(?:logging\/setLevel|resources\/subscribe)$/;

export function createBridge(options: Options, out: Writer, log: (text: string) => void): Bridge {
  let initialize: Message | null = null;
  let initialized = false;
  let ready: Promise<void> = Promise.resolve();
  let sessionId: string | null = null;
  let version: string | null = null;
  /** Whether the gateway can tell by a call's key that it did not run. */
  let repeatable = false;
  /** Counts MCP sessions, so that several messages that lost the same one open only one anew. */
  let generation = 0;
  let joining: Promise<void> | null = null;
  let tools: string | null = null;
  let checking: Promise<void> | null = null;
  let internal = 0;
  const state = new Map<string, Message>();
  const waiting = new Map<string | number, AbortController>();
  const pending = new Set<Promise<void>>();
  const closing = new AbortController();

  function headers(method: 'POST' | 'GET' | 'DELETE', first: boolean): Record<string, string> {
    return {
      authorization: `Bearer ${options.token}`,
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(first || sessionId === null ? {} : { 'mcp-session-id': sessionId }),
      ...(first || version === null ? {} : { 'mcp-protocol-version': version }),
    };
  }

  type Sending = { key?: string; attempt?: number; signal?: AbortSignal | undefined };

  async function post(
    message: Message,
    onMessage: (message: Message) => void | Promise<void>,
    sending: Sending = {},
  ) {
    const body = JSON.stringify(message);
    const first = message.method === 'initialize';
    const repeat: Record<string, string> =
      sending.key === undefined
        ? {}
        : { 'wraptool-idempotency-key': sending.key, 'wraptool-attempt': String(sending.attempt) };
    const answered = await exchange(options.target, {
      method: 'POST',
      headers: { ...headers('POST', first), ...repeat, 'content-length': String(Buffer.byteLength(body)) },
      body,
      onMessage,
      ...(sending.signal ? { signal: sending.signal } : {}),
    });
    if (!first) return;
    const id = answered['mcp-session-id'];
    sessionId = typeof id === 'string' ? id : null;
    repeatable = answered['wraptool-repeat'] === 'by-key';
  }

  /** Asks on the relay's own behalf. */
  async function ask(message: Message): Promise<Message | null> {
    let reply: Message | null = null;
    internal += 1;
    await post({ ...message, jsonrpc: '2.0', id: `wraptool-relay-${internal}` }, (got) => {
      if (got.method === undefined) reply = got;
    });
    return reply;
  }

  /** Runs `work` until the gateway is there, at most the time that messages wait. */
  async function patiently(
    work: () => Promise<void>,
    signal: AbortSignal,
    retry: (error: Away) => void = () => undefined,
  ): Promise<void> {
    const began = performance.now();
    for (let delay = 25; ; delay = Math.min(delay * 1.6, 200)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Away)) throw error;
        if (signal.aborted) throw new Refused('cancelled');
        if (performance.now() - began > options.waitMs)
          throw new Refused(
            `the gateway was not reachable for ${Math.round((performance.now() - began) / 1000)} s (${error.message})`,
          );
        retry(error);
      }
      await pause(delay);
    }
  }

  /** Opens a new MCP session in place of the one numbered `old`, with the client's own words. */
  function rejoin(old: number): Promise<void> {
    if (generation !== old || !initialize) return Promise.resolve();
    const words = initialize;
    joining ??= patiently(async () => {
      const reply = await ask(words);
      if (!reply) throw new Away('no answer to initialize', false);
      if (!reply.result)
        throw new Refused(`the gateway refused to open a session: ${JSON.stringify(reply.error)}`);
      version = String(reply.result['protocolVersion']);
      generation += 1;
      if (initialized) await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, () => undefined);
      for (const message of state.values()) await ask(message);
      check();
    }, closing.signal).finally(() => {
      joining = null;
    });
    return joining;
  }

  /** Tells the client of a change only where the list differs from the one it saw. */
  function check(): void {
    if (tools === null) return;
    checking ??= (async () => {
      const reply = await ask({ method: 'tools/list' });
      const now = reply?.result && JSON.stringify(reply.result['tools']);
      if (now === undefined || now === tools) return;
      tools = now;
      out.write({ jsonrpc: '2.0', method: listChanged });
    })()
      .catch((error: Error) => {
        // The stream that comes after the next restart asks again.
        if (!(error instanceof Away || error instanceof Lost || error instanceof Refused)) throw error;
        log(`tools were not compared: ${error.message}`);
      })
      .finally(() => {
        checking = null;
      });
    track(checking);
  }

  async function forward(message: Message): Promise<void> {
    if (message.method === listChanged && tools !== null) return check();
    out.write(message);
    await out.drained();
  }

  /** The standalone stream: notifications, and the early word of a restart. */
  async function listen(): Promise<void> {
    let broken = false;
    while (!closing.signal.aborted) {
      const old = generation;
      const began = performance.now();
      try {
        await exchange(options.target, {
          method: 'GET',
          headers: headers('GET', false),
          onMessage: forward,
          onOpen: () => {
            if (broken) check();
            broken = true;
          },
          signal: closing.signal,
        });
      } catch (error) {
        if (closing.signal.aborted) return;
        if (error instanceof Lost) await rejoin(old);
        else if (!(error instanceof Away)) throw error;
      }
      await pause(performance.now() - began > 1_000 ? 20 : 200);
    }
  }

  async function open(message: Message): Promise<void> {
    initialize = message;
    initialized = false;
    sessionId = null;
    generation += 1;
    await patiently(
      () =>
        post(message, (reply) => {
          if (reply.result) version = String(reply.result['protocolVersion']);
          out.write(reply);
        }),
      closing.signal,
    );
  }

  async function request(message: Message, id: string | number): Promise<void> {
    if (waiting.size >= mostWaiting)
      throw new Refused(`more than ${mostWaiting} requests wait for the gateway`);
    const stop = new AbortController();
    waiting.set(id, stop);
    try {
      await deliver(message, id, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      waiting.delete(id);
    }
  }

  async function deliver(message: Message, id: string | number, signal: AbortSignal): Promise<void> {
    const call = message.method === 'tools/call';
    const sending = { signal, attempt: 1, ...(call ? { key: randomUUID() } : {}) };
    let answered = false;
    const receive = async (got: Message) => {
      if (got.method === undefined && got.id === id) {
        answered = true;
        if (message.method === 'tools/list' && got.result) tools = JSON.stringify(got.result['tools']);
      }
      await forward(got);
    };
    const attempt = async () => {
      const old = generation;
      try {
        await post(message, receive, sending);
        if (!answered) throw new Away('the answer ended early', true);
      } catch (error) {
        if (answered) return;
        if (!(error instanceof Lost)) throw error;
        await rejoin(old);
        throw new Away('the session was made anew', false);
      }
    };
    await patiently(attempt, signal, (error) => {
      if (!error.sent) return;
      if (call && !repeatable)
        throw new Refused(
          'the gateway went away while this call ran: whether it ran is unknown, so it was not repeated',
        );
      sending.attempt += 1;
    });
  }

  async function notification(message: Message): Promise<void> {
    if (message.method === 'notifications/initialized') {
      await patiently(() => post(message, () => undefined), closing.signal);
      if (initialized) return;
      initialized = true;
      listen().catch((error: Error) => log(`no stream of notifications: ${error.message}`));
      return;
    }
    const cancelled =
      message.method === 'notifications/cancelled'
        ? waiting.get(message.params?.['requestId'] as string)
        : undefined;
    try {
      await post(message, () => undefined);
    } catch (error) {
      // What the gateway of before was told means nothing to the next one.
      if (!(error instanceof Away || error instanceof Lost)) throw error;
    }
    cancelled?.abort();
  }

  async function handle(message: Message): Promise<void> {
    const id = message.id;
    if (message.method === undefined) return;
    const isRequest = typeof id === 'string' || typeof id === 'number';
    if (message.method === 'initialize') return open(message);
    if (!initialize) {
      // Probes for another revision come before `initialize`: this relay speaks the session-based ones.
      if (isRequest)
        out.write({
          jsonrpc: '2.0',
          id,
          error: { code: -32601, message: `Method not found: ${message.method}` },
        });
      return;
    }
    await ready;
    if (remembered.test(message.method))
      state.set(message.method + JSON.stringify(message.params?.['uri'] ?? ''), message);
    return isRequest ? request(message, id) : notification(message);
  }

  function track(work: Promise<void>): void {
    pending.add(work);
    work.finally(() => pending.delete(work)).catch((error: Error) => log(error.message));
  }

  function start(message: Message): void {
    const work = handle(message).catch((error: Error) => {
      if (!(error instanceof Away || error instanceof Lost || error instanceof Refused)) throw error;
      log(`${message.method ?? ''}: ${error.message}`);
      if (message.id !== undefined && message.id !== null)
        out.write({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: -32000, message: `wraptool: ${error.message}` },
        });
    });
    if (message.method === 'initialize' || message.method === 'notifications/initialized') ready = work;
    track(work);
  }

  return {
    async take(line) {
      let value: unknown = null;
      try {
        value = line === null ? null : (JSON.parse(line) as unknown);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
      if (typeof value !== 'object' || value === null)
        out.write({
          jsonrpc: '2.0',
          id: null,
          error: { code: -32700, message: 'Parse error: a line is one JSON message of at most 4 MiB' },
        });
      else for (const message of [value as Message | Message[]].flat()) start(message);
      await out.drained();
    },
    async close() {
      await Promise.race([Promise.allSettled([...pending]), pause(1_000)]);
      closing.abort();
      for (const stop of waiting.values()) stop.abort();
      if (sessionId === null) return;
      const goodbye = exchange(options.target, {
        method: 'DELETE',
        headers: headers('DELETE', false),
        onMessage: () => undefined,
        signal: AbortSignal.timeout(500),
      });
      await goodbye.then(
        () => undefined,
        (error: Error) => log(`the session was not ended: ${error.message}`),
      );
    },
  };
}
