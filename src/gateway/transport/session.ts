/**
 * MCP sessions. An id is `<facts>.<mac>`: the mac is made with a key derived from the token, so that a gateway that
 * has never seen the id (it was restarted, or had let the session go) takes it up again, and one of another token can't be used.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Limits } from './limits.ts';
import { isRecord, type RpcId } from './message.ts';
import type { Stream } from './stream.ts';

export const versions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

/** Served beside them, without sessions. */
export const statelessVersion = '2026-07-28';

export type Session = {
  readonly id: string;
  readonly version: string;
  readonly client: string;
  /** Newest last; a message goes to the newest. */
  readonly streams: Stream[];
  readonly running: Map<RpcId, Set<AbortController>>;
  /** The list of tools may differ from what the client saw: told at its next stream. */
  stale: boolean;
  /** From which level on it wants the log lines of upstream servers. */
  level: string;
  /** ms by the monotonic clock: sleep of the machine does not count. */
  usedAt: number;
};

export interface Sessions {
  /** A new session; null where there are too many. */
  open(version: string, client: string): Session | null;
  /** The session of an id, taken up again where it isn't held; null where the id is not ours, or was ended. */
  find(id: string): Session | null | 'full';
  end(session: Session): void;
  all(): Iterable<Session>;
  /** Lets go of what was idle too long. */
  sweep(now: number): void;
}

export function createSessions(token: string, limits: Limits): Sessions {
  const key = createHmac('sha256', token).update('wraptool mcp session').digest();
  const held = new Map<string, Session>();
  const ended = new Set<string>();
  const mac = (facts: string) => createHmac('sha256', key).update(facts).digest();

  function hold(id: string, version: string, client: string, stale: boolean): Session | null {
    if (held.size >= limits.sessions && !makeRoom()) return null;
    const session: Session = {
      id,
      version,
      client,
      streams: [],
      running: new Map(),
      stale,
      level: 'all',
      usedAt: performance.now(),
    };
    held.set(id, session);
    return session;
  }

  function makeRoom(): boolean {
    for (const session of held.values())
      if (isIdle(session)) {
        held.delete(session.id);
        return true;
      }
    return false;
  }

  return {
    open(version, client) {
      const facts = Buffer.from(JSON.stringify([version, client, randomBytes(16).toString('base64url')]));
      const text = facts.toString('base64url');
      return hold(`${text}.${mac(text).toString('base64url')}`, version, client, false);
    },
    find(id) {
      const session = held.get(id);
      if (session) {
        // Least recently used first: re-inserting keeps the map in that order.
        held.delete(id);
        held.set(id, session);
        session.usedAt = performance.now();
        return session;
      }
      const facts = ended.has(id) ? null : readFacts(id, mac);
      return facts && (hold(id, facts.version, facts.client, true) ?? 'full');
    },
    end(session) {
      held.delete(session.id);
      ended.add(session.id);
      if (ended.size > limits.sessions * 4) ended.delete(ended.values().next().value as string);
      for (const stream of [...session.streams]) stream.close();
      for (const calls of session.running.values()) for (const call of calls) call.abort();
    },
    all: () => held.values(),
    sweep(now) {
      for (const session of held.values())
        if (isIdle(session) && now - session.usedAt > limits.idleSessionMs) held.delete(session.id);
    },
  };
}

const isIdle = (session: Session) => session.streams.length === 0 && session.running.size === 0;

const idShape = /^([A-Za-z0-9_-]{1,1024})\.([A-Za-z0-9_-]{43})$/;

function readFacts(id: string, mac: (facts: string) => Buffer): { version: string; client: string } | null {
  const [, facts, given] = idShape.exec(id) ?? [];
  if (facts === undefined || given === undefined) return null;
  const expected = mac(facts);
  const found = Buffer.from(given, 'base64url');
  if (found.length !== expected.length || !timingSafeEqual(found, expected)) return null;
  const value = JSON.parse(Buffer.from(facts, 'base64url').toString()) as unknown[];
  const [version, client] = value;
  return typeof version === 'string' && typeof client === 'string' ? { version, client } : null;
}

/** "name/version" of a client, for the log: printable ASCII, bounded. */
export function clientName(info: unknown): string {
  if (!isRecord(info)) return 'unknown';
  const part = (value: unknown) =>
    typeof value === 'string' ? value.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?') : '';
  return `${part(info['name']) || 'unknown'}/${part(info['version'])}`;
}
