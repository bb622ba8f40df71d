/** Sessions as `wraptool ps`, `inspect` and `logs` show them. */
import { open } from 'node:fs/promises';
import { recentRecords } from '../../log/tail.ts';
import { inspectSession } from '../../up/inspect.ts';
import { eventsFile } from '../../up/session-events.ts';
import { viewSessions } from '../../up/sessions.ts';
import type { Route } from '../route.ts';
import { flat } from './log.ts';

const mostCalls = 50;
const lookBytes = 4 * 1024 * 1024;
const tailBytes = 16 * 1024;

export const sessionRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: /^sessions$/,
    action: 'system.read_namespaces',
    run: async ({ env }) => ({ sessions: await viewSessions(env) }),
  },
  {
    method: 'GET',
    path: /^sessions\/([a-z0-9][a-z0-9-]{0,31})$/,
    action: 'system.read_namespaces',
    run: async ({ env }, { parts: [name = ''] }) => {
      const session = await inspectSession(env, name);
      const { paths, created } = session;
      const mark = `"session":${JSON.stringify(name)}`;
      const records =
        paths.log === null ? [] : await recentRecords(paths.log, lookBytes, (line) => line.includes(mark));
      return {
        session,
        calls: records
          .filter(({ record }) => record.time >= created)
          .slice(0, mostCalls)
          .map(flat),
        events: await lastLines(eventsFile(paths.session)),
        gateway_log: await lastLines(paths.gateway_log),
      };
    },
  },
];

/** The last whole lines of a file, none where there is no file. */
async function lastLines(file: string): Promise<string[]> {
  try {
    await using handle = await open(file, 'r');
    const { size } = await handle.stat();
    const from = Math.max(0, size - tailBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    return (from === 0 ? lines : lines.slice(1)).filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
