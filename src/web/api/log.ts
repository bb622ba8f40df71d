/** The log, for people: `wraptool log tail` with a filter, and `wraptool log why`. */
import { WraptoolError } from '../../errors.ts';
import { story } from '../../log/read.ts';
import type { Entry } from '../../log/record.ts';
import { recentRecords, tailLog } from '../../log/tail.ts';
import { compare } from '../../log/read.ts';
import type { Route } from '../route.ts';
import { shorten } from '../shorten.ts';

const most = 200;
/** How much of the log a filter looks through. */
const lookBytes = 16 * 1024 * 1024;

/** As a row of a table needs it. */
export const flat = ({ seq, record }: Entry): object => ({ seq, ...shorten(record) });

export const logRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: /^log$/,
    action: 'requests.read',
    run: async ({ dir }, { query }) => {
      const events = (query.get('events') ?? '').split(',').filter((name) => /^[a-z]+$/.test(name));
      const text = (query.get('text') ?? '').slice(0, 200);
      const session = query.get('session') ?? '';
      if (events.length === 0 && text === '' && session === '')
        return { records: (await tailLog(dir, most)).toReversed().map(flat), looked: null };
      const marks = events.map((name) => `"event":"${name}"`);
      // As it stands in a line of JSON.
      const needle = JSON.stringify(text).slice(1, -1).toLowerCase();
      const from = `"session":${JSON.stringify(session)}`;
      const found = await recentRecords(
        dir,
        lookBytes,
        (line) =>
          (marks.length === 0 || marks.some((mark) => line.includes(mark))) &&
          (session === '' || line.includes(from)) &&
          (needle === '' || line.toLowerCase().includes(needle)),
      );
      const newest = found.toSorted((a, b) => compare(b, a)).slice(0, most);
      return { records: newest.map(flat), looked: lookBytes };
    },
  },
  {
    method: 'GET',
    path: /^log\/why$/,
    action: 'requests.read',
    run: async ({ dir }, { query }) => {
      const seq = query.get('seq') ?? '';
      const entries = await story(dir, seq);
      if (entries === null) throw new WraptoolError('usage', 'there is no such record in the log');
      return { records: entries.map(flat) };
    },
  },
];
