/** A writer in a process of its own: `DIR NUMBER`. Says each seq on stdout once it is acknowledged, until it is killed. */
import * as fs from 'node:fs';
import { openLog } from '../../src/log/append.ts';

const [, , dir = '', number = '0'] = process.argv;
const log = await openLog(dir, { session: `s${number}`, fullBytes: 40_000 });
for (let count = 0; ; count += 1) {
  const seq =
    count % 5 === 4
      ? log.append({
          event: 'denied',
          id: `req_0000000${count % 10}`,
          actor: `w${number}`,
          reason: 'x'.repeat(count % 3000),
        })
      : log.append({
          event: 'received',
          name: 'git_status',
          tool: 'git',
          argv: ['status', 'x'.repeat((count * 37) % 4000)],
          client: `writer/${number}`,
          mcp_session: null,
          key: null,
        });
  // The test counts as acknowledged only what was said whole.
  fs.writeSync(1, `${seq}\n`);
}
