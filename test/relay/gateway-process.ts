/** A gateway that can be killed: argv is SOCKET CALLS [EXTRA-TOOL]. Each call is appended to CALLS before it runs. */
import * as fs from 'node:fs';
import { listen } from '../../src/gateway/transport/listen.ts';
import { fakeCore, token } from '../gateway/transport/fake-core.ts';

const [socket = '', calls = '', extra] = process.argv.slice(2);
const core = fakeCore();
if (extra !== undefined) core.tools.push({ name: extra, description: '', inputSchema: { type: 'object' } });
const inner = core.callTool.bind(core);
const said = (text: string) => ({ content: [{ type: 'text', text }], isError: true }) as const;

core.callTool = async (caller, name, args, options) => {
  const { key = '', attempt = 1 } = caller.repeat ?? {};
  const before = fs.existsSync(calls) ? fs.readFileSync(calls, 'utf8') : '';
  if (attempt > 1 && before.includes(key)) return said('this call ran before');
  fs.appendFileSync(calls, `${JSON.stringify({ key, attempt, name, query: caller.query })}\n`);
  return inner(caller, name, args, options);
};
const listening = await listen({
  core,
  token,
  about: { name: 'wraptool', version: '0.0.0', instructions: '' },
  tcp: null,
  socket: { path: socket },
  fault: (error) => process.stderr.write(`${String(error)}\n`),
});
process.on('SIGUSR2', () => core.changed());
process.stdout.write(`ready ${listening.socket ?? ''}\n`);
