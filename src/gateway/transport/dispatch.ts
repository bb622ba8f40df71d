/** The methods of the session-based revisions (2024-11-05 to 2025-11-25), whatever carries them. */
import type { Caller, Core, ToolResult } from '../core.ts';
import { isRecord, readId, rpc, RpcError, type Notification, type Params, type Request } from './message.ts';
import { clientName, versions, type Session } from './session.ts';

export type About = { readonly name: string; readonly version: string; readonly instructions: string };

/** What a method may do to the wire while it runs. */
export type Running = {
  readonly signal: AbortSignal;
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

export const initializeResult = (version: string, about: About) => ({
  protocolVersion: version,
  capabilities: { tools: { listChanged: true } },
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
      return { tools: core.listTools() };
    case 'tools/call':
      return callTool(core, caller, request.params, running);
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
  const token = isRecord(meta) ? readId(meta['progressToken']) : null;
  const { notify, signal } = running;
  if (token === null || !notify) return core.callTool(caller, name, args, { signal });

  let count = 0;
  const started = Date.now();
  const progress = (message: string) => {
    count += 1;
    beat.refresh();
    notify('notifications/progress', { progressToken: token, progress: count, message });
  };
  const beat = setInterval(
    () => progress(`running for ${Math.round((Date.now() - started) / 1000)} s`),
    beatMs,
  );
  try {
    return await core.callTool(caller, name, args, { signal, progress });
  } finally {
    clearInterval(beat);
  }
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
  id: Request['id'],
  call: AbortController,
  work: () => Promise<T>,
): Promise<T> {
  const calls = session.running.get(id) ?? new Set();
  session.running.set(id, calls.add(call));
  try {
    return await work();
  } finally {
    calls.delete(call);
    if (calls.size === 0) session.running.delete(id);
  }
}
