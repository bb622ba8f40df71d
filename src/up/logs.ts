/** What happened in a session: its supervisor's events, its gateway's words and its calls, old ones and new ones. */
import { existsSync, watch } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { followLog } from '../log/read.ts';
import type { Entry } from '../log/record.ts';
import { findSession, type Session } from './session.ts';
import { eventsFile, type SessionEvent } from './session-events.ts';
import { gatewayLog } from './inspect.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type LogLine =
  | { readonly source: 'supervisor'; readonly time: string; readonly event: SessionEvent }
  /** The gateway's own words have no time. */
  | { readonly source: 'gateway'; readonly time: null; readonly text: string }
  | { readonly source: 'calls'; readonly time: string; readonly entry: Entry };

export type SessionLogs = {
  /** What is new since the last time, what has a time in its order. The first time gives all. */
  poll(): Promise<LogLine[]>;
  /** Resolves at the next change; `ended` when the session's folder is gone. */
  changed(): Promise<'changed' | 'ended'>;
  close(): Promise<void>;
};

/** Errors: session_unknown. */
export async function openLogs(env: Env, name: string): Promise<SessionLogs> {
  const { session } = await findSession(env, name);
  const events = await followFile(eventsFile(session.dir));
  const words = await followFile(gatewayLog(session));
  const calls = session.state.log === undefined ? null : followLog(session.state.log);
  const signals = watchAll(session);
  return {
    poll: async () => {
      const supervisor = (await events.poll()).map((line): LogLine => {
        const event = JSON.parse(line) as SessionEvent;
        return { source: 'supervisor', time: event.time, event };
      });
      const entries = (await calls?.poll()) ?? [];
      const called = entries
        .filter(({ record }) => record.session === name && record.time >= session.state.created)
        .map((entry): LogLine => ({ source: 'calls', time: entry.record.time, entry }));
      const said = (await words.poll()).map((text): LogLine => ({ source: 'gateway', time: null, text }));
      return [...[...supervisor, ...called].sort(byTime), ...said];
    },
    changed: () => signals.next(),
    close: async () => {
      signals.close();
      await Promise.all([events.close(), words.close()]);
    },
  };
}

function byTime(a: LogLine, b: LogLine): number {
  return (a.time ?? '').localeCompare(b.time ?? '');
}

type Followed = { poll(): Promise<string[]>; close(): Promise<void> };

/** Whole lines that were appended to a file since the last time. Held open, it can be read when the session has gone. */
async function followFile(file: string): Promise<Followed> {
  const handle = await orNull(open(file, 'r'));
  let offset = 0;
  let rest = Buffer.alloc(0);
  return {
    poll: async () => {
      if (handle === null) return [];
      const wanted = Math.max(0, (await handle.stat()).size - offset);
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(wanted), 0, wanted, offset);
      offset += bytesRead;
      const all = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = all.lastIndexOf(10) + 1;
      rest = all.subarray(end);
      const lines = all.toString('utf8', 0, end).split('\n');
      return lines.filter((line) => line !== '');
    },
    close: async () => handle?.close(),
  };
}

async function orNull<T>(opening: Promise<T>): Promise<T | null> {
  try {
    return await opening;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Changes in the session's folder and in the log's, joined while nobody waits for them. */
function watchAll(session: Session): { next(): Promise<'changed' | 'ended'>; close(): void } {
  let pending: 'changed' | 'ended' | null = null;
  let wake: () => void = () => undefined;
  const tell = (): void => {
    if (pending !== 'ended')
      pending = existsSync(path.join(session.dir, 'session.json')) ? 'changed' : 'ended';
    wake();
  };
  const folders = [session.dir, ...(session.state.log === undefined ? [] : [session.state.log])];
  const watches = folders.map((folder) => watch(folder, tell));
  // It may have ended between its being found and the watch.
  tell();
  return {
    next: async () => {
      if (pending === null) await new Promise<void>((resolve) => (wake = resolve));
      const what = pending ?? 'changed';
      if (what !== 'ended') pending = null;
      return what;
    },
    close: () => watches.forEach((one) => one.close()),
  };
}
