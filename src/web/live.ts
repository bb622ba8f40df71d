/** What changes while a page is open, as server-sent events: requests, and records of the log. */
import { watch, type FSWatcher } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { followNew, type Follower } from '../log/read.ts';
import type { Entry } from '../log/record.ts';
import type { Login } from './logins.ts';
import { WebRefusal } from './refusal.ts';

export type Live = {
  /** Requests as they are now, as an event has them. */
  list(): Promise<unknown>;
  /** Takes over a response whose head is not sent yet; it ends with the login. Throws WebRefusal 503. */
  attach(
    res: ServerResponse,
    head: Readonly<Record<string, string>>,
    login: Pick<Login, 'id' | 'ended'>,
  ): Promise<void>;
  close(): void;
};

export type LiveOptions = {
  /** Folder of the log. */
  readonly dir: string;
  readonly list: () => Promise<unknown>;
  readonly recordOf: (entry: Entry) => unknown;
  readonly fault: (error: unknown) => void;
};

const streams = 32;
/** Of one login, which a tab that was doubled shares: nobody takes the line from the others. */
const streamsOfLogin = 6;
/** Bursts are one event. */
const joinMs = 50;
/** Expiry, sessions that ended: what no file tells. It is a beat for the connection, too. */
const beatMs = 5_000;
/** A reader that takes nothing is cut off. */
const backlogBytes = 4 * 1024 * 1024;
/** Of a flood of calls the page sees the newest. */
const mostRecords = 200;

/** Looks only while somebody listens. */
export function createLive({ dir, list, recordOf, fault }: LiveOptions): Live {
  const open = new Set<ServerResponse>();
  let watcher: FSWatcher | null = null;
  let follower: Follower | null = null;
  let beat: NodeJS.Timeout | null = null;
  let soon: NodeJS.Timeout | null = null;
  let looking: Promise<void> = Promise.resolve();
  let told = '';

  function send(event: string, data: string, to: Iterable<ServerResponse> = open): void {
    for (const res of to) {
      res.write(`event: ${event}\ndata: ${data}\n\n`);
      if (res.writableLength > backlogBytes) res.destroy();
    }
  }

  async function look(): Promise<void> {
    const records = ((await follower?.poll()) ?? []).slice(-mostRecords);
    if (records.length > 0) send('records', JSON.stringify(records.map(recordOf)));
    const now = JSON.stringify(await list());
    if (now !== told) send('requests', now);
    told = now;
  }

  function later(): void {
    soon ??= setTimeout(() => {
      soon = null;
      looking = looking.then(look).catch(fault);
    }, joinMs);
  }

  async function begin(): Promise<void> {
    follower = await followNew(dir);
    watcher = watch(dir, later).on('error', fault);
    beat = setInterval(() => {
      for (const res of open) res.write(': beat\n\n');
      later();
    }, beatMs);
  }

  function rest(): void {
    watcher?.close();
    if (beat !== null) clearInterval(beat);
    if (soon !== null) clearTimeout(soon);
    [watcher, beat, soon, follower] = [null, null, null, null];
  }

  let starting: Promise<void> | null = null;
  /** The logins of those that listen, or are about to. */
  const attached: string[] = [];
  return {
    list,
    async attach(res, head, { id, ended }) {
      if (attached.length >= streams || attached.filter((of) => of === id).length >= streamsOfLogin)
        throw new WebRefusal(503, 'too_many_streams', 'too many pages are open');
      // From now on, whatever it waits for: those that come meanwhile are not let in beside it.
      attached.push(id);
      res.once('close', () => {
        attached.splice(attached.indexOf(id), 1);
        open.delete(res);
        if (attached.length > 0) return;
        rest();
        starting = null;
      });
      starting ??= begin().catch((error: unknown) => {
        starting = null;
        throw error;
      });
      await starting;
      const first = JSON.stringify(await list());
      if (ended.aborted) res.destroy();
      if (res.destroyed) return;
      res.writeHead(200, { ...head, 'content-type': 'text/event-stream' });
      // Whoever was there before may know an older one.
      if (open.size === 0) told = first;
      else if (first !== told) later();
      open.add(res);
      send('requests', first, [res]);
      const end = () => res.end();
      ended.addEventListener('abort', end);
      res.once('close', () => ended.removeEventListener('abort', end));
    },
    close() {
      for (const res of open) res.end();
      rest();
    },
  };
}
