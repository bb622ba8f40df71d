/** The methods of the session-based revisions (2024-11-05 to 2025-11-25), whatever carries them. */
import type { Caller, CallOptions, Core, Progress, ToolResult } from '../core.ts';
import { isRecord, readId, rpc, RpcError, type Notification, type Params, type Request } from './message.ts';
import { clientName, versions, type Session } from './session.ts';

export type About = { readonly name: string; readonly version: string; readonly instructions: string };

/** What a method may do to the wire while it runs. */
export type Running = {
  readonly signal: AbortSignal;
  /** From which level on log lines are wanted; `all` and `none` beside MCP's. */
  readonly level: string;
  /** Sends a notification that belongs to this request; null where the wire can carry none. */
  readonly notify: ((method: string, params: Params) => void) | null;
};

/** Negotiates a revision: the one asked for where it is known, else the newest. */
export function negotiate(params: Params): { version: string; client: string } {
  const asked = params['protocolVersion'];
  if (typeof asked !== 'string')
    throw new RpcError(rpc.params, 'Invalid params: "protocolVersion" must be a string');
  const version = versions.find((known) => known === asked) ?? versions[0];
  return { version, client: clientName(params['clientInfo']) };
}

/** Log lines come from upstream servers alone. */
export const capabilities = (core: Core) => ({
  tools: { listChanged: true },
  ...(core.forwardsLogs() ? { logging: {} } : {}),
});

export const initializeResult = (version: string, { about, core }: { about: About; core: Core }) => ({
  protocolVersion: version,
  capabilities: capabilities(core),
  serverInfo: { name: about.name, version: about.version },
  instructions: about.instructions,
});

/** Answers one request but `initialize`; throws RpcError. */
export async function answer(
  core: Core,
  caller: Caller,
  request: Request,
  running: Running,
): Promise<unknown> {
  switch (request.method) {
    case 'ping':
      return {};
    case 'tools/list':
      await core.ready();
      return { tools: core.listTools(caller) };
    case 'tools/call':
      return callTool(core, caller, request.params, running);
    case 'logging/setLevel':
      if (readLevel(request.params['level']) === null)
        throw new RpcError(rpc.params, `Invalid params: "level" must be one of ${levels.join(', ')}`);
      return {};
    default:
      throw new RpcError(rpc.unknownMethod, `Method not found: ${request.method}`);
  }
}

const beatMs = 15_000;

/** A call, with progress where the client gave a token: output lines as they come, and a beat while there are none. */
export async function callTool(
  core: Core,
  caller: Caller,
  params: Params,
  running: Running,
): Promise<ToolResult> {
  const { name, arguments: args = {}, _meta: meta } = params;
  if (typeof name !== 'string') throw new RpcError(rpc.params, 'Invalid params: "name" must be a string');
  if (!isRecord(args)) throw new RpcError(rpc.params, 'Invalid params: "arguments" must be an object');
  const { notify, signal } = running;
  if (!notify) return core.callTool(caller, name, args, { signal });
  const lines = running.level === 'none' ? {} : { message: logLines(running.level, notify) };
  const token = isRecord(meta) ? readId(meta['progressToken']) : null;
  if (token === null) return core.callTool(caller, name, args, { signal, ...lines });

  const progress = counted((report) => {
    beat.refresh();
    notify('notifications/progress', { progressToken: token, ...report });
  });
  const started = performance.now();
  const beat = setInterval(
    () => progress({ message: `running for ${Math.round((performance.now() - started) / 1000)} s` }),
    beatMs,
  );
  try {
    return await core.callTool(caller, name, args, { signal, progress, ...lines });
  } finally {
    clearInterval(beat);
  }
}

/** Gives every report a number, and none that is not over the last one: MCP asks for that, whatever a server counts. */
function counted(
  send: (report: Progress & { readonly progress: number }) => void,
): (report: Progress) => void {
  const least = 0.001;
  let last = -Infinity;
  let numbered = false;
  return (report) => {
    numbered ||= report.progress !== undefined;
    const first = last === -Infinity;
    const next = report.progress ?? (first ? 1 : last + (numbered ? least : 1));
    last = next > last ? next : last + least;
    send({ ...report, progress: last });
  };
}

/** By weight, as MCP (and syslog) orders them. */
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export function readLevel(value: unknown): string | null {
  return typeof value === 'string' && levels.includes(value) ? value : null;
}

function logLines(
  level: string,
  notify: NonNullable<Running['notify']>,
): NonNullable<CallOptions['message']> {
  const from = levels.indexOf(level);
  return (message) => {
    if (levels.indexOf(message.level) >= from) notify('notifications/message', message);
  };
}

/** Takes a notification. One that cancels a call that has ended, or never was, changes nothing. */
export function notice(session: Session, { method, params }: Notification): void {
  if (method !== 'notifications/cancelled') return;
  const id = readId(params['requestId']);
  if (id === null) return;
  for (const call of session.running.get(id) ?? []) call.abort();
}

/** Runs `work` with a signal that `notifications/cancelled` and the end of the session set off. */
export async function tracked<T>(
  session: Session,
  { id, method, params }: Request,
  call: AbortController,
  work: () => Promise<T>,
): Promise<T> {
  if (method === 'logging/setLevel') session.level = readLevel(params['level']) ?? session.level;
  const calls = session.running.get(id) ?? new Set();
  session.running.set(id, calls.add(call));
  try {
    return await work();
  } finally {
    calls.delete(call);
    if (calls.size === 0) session.running.delete(id);
  }
}
