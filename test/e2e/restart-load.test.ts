/**
 * Restarts one after the other while 32 clients of the official SDK call: no retry on their side, half of them on
 * connections that they keep open. WRAPTOOL_RESTARTS=200 by hand.
 */
import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Audit } from '../../src/up/audit.ts';
import { controlSocket } from '../../src/up/control/line.ts';
import { askRestart } from '../../src/up/control/restart-client.ts';
import { restartHandler } from '../../src/up/control/restart-server.ts';
import { openControl } from '../../src/up/control/server.ts';
import { Turns } from '../../src/up/control/turns.ts';
import { Gateways } from '../../src/up/gateways.ts';
import { sessionHealth } from '../../src/up/health.ts';
import { openEvents } from '../../src/up/session-events.ts';
import { createSession } from '../../src/up/session.ts';
import { world, type Result } from '../gateway/support.ts';
import { until } from '../support/until.ts';
import { main } from '../support/main.ts';

const restarts = Number(process.env['WRAPTOOL_RESTARTS'] ?? 20);
const clients = 32;
const token = 'a-token-for-all-of-them';

/** What fetch does, on a Unix socket. */
function fetchOn(socketPath: string, agent: http.Agent | false): typeof fetch {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const headers = Object.fromEntries(new Headers(init.headers));
      const body = typeof init.body === 'string' ? init.body : undefined;
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const request = http.request({
        socketPath,
        agent,
        path: url.pathname + url.search,
        method: init.method ?? 'GET',
        headers: { ...headers, ...length },
        ...(init.signal ? { signal: init.signal } : {}),
      });
      request.once('error', reject);
      request.once('response', (answer) => {
        const known = Object.entries(answer.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        const empty = [202, 204].includes(answer.statusCode ?? 0);
        if (empty) answer.resume();
        resolve(
          new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream), {
            status: answer.statusCode ?? 500,
            headers: known,
          }),
        );
      });
      request.end(body);
    });
}

test(
  `${restarts} restarts under ${clients} clients: every call is answered, at one address, with one token`,
  { timeout: 60_000 + restarts * 6_000 },
  async (t) => {
    const it = world(t);
    const env = {
      ...it.env,
      XDG_RUNTIME_DIR: path.join(it.dir, 'run'),
      XDG_STATE_HOME: path.join(it.dir, 'state'),
    };
    const session = await createSession(
      env,
      { given: 'load', proposed: 'load' },
      {
        harness: 'shell',
        runtime: 'bubblewrap',
        workspace: it.src,
        roots: [it.src],
        owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
        config: it.config,
        remotes: {},
        shared: [],
      },
    );
    openEvents(session.dir);
    const warnings: string[] = [];
    const audit = new Audit(it.log, 'load');
    const gateways = new Gateways({
      session,
      start: {
        name: 'load',
        dir: session.dir,
        config: it.config,
        token,
        env,
        logFile: path.join(session.dir, 'gateway.log'),
        main,
      },
      policy: 'never',
      audit,
      warn: (text) => warnings.push(text),
    });
    await gateways.start();
    const proven = async () => {
      await gateways.expected();
      await gateways.proven({ source: 'client_namespace', ok: true, reasons: [] });
    };
    await proven();
    const supervisor = await openControl(
      controlSocket(session.dir),
      {
        restart: restartHandler({
          name: 'load',
          sessionId: session.state.id,
          env,
          arming: { operatorAuthorization: '1', hook: 'session' },
          audit,
          turns: new Turns(),
          act: (_hook, mode) => gateways.restart(mode),
          health: () => sessionHealth(env, session),
          note: (text) => warnings.push(text),
        }),
      },
      (error) => warnings.push(String(error)),
    );
    const agent = new http.Agent({ keepAlive: true });
    const open: Client[] = [];
    t.after(async () => {
      for (const client of open) await client.close();
      agent.destroy();
      await supervisor.close();
      await gateways.close();
      await audit.close();
    });

    let over = false;
    const seen = { answered: 0, quiescing: 0, unproven: 0, changed: 0 };
    const lost: string[] = [];
    async function work(number: number): Promise<void> {
      const client = new Client({ name: `load-${number}`, version: '1' });
      const url = new URL(`http://localhost/mcp?cwd=${encodeURIComponent(it.src)}`);
      const transport = new StreamableHTTPClientTransport(url, {
        fetch: fetchOn(session.socket, number % 2 === 0 ? agent : false),
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      });
      await client.connect(transport as Transport);
      open.push(client);
      for (let round = 0; !over; round += 1) {
        const [name, args] =
          round % 2 === 0 ? ['seq', { args: ['2'] }] : ['echo', { args: [`${number}-${round}`] }];
        try {
          const { content, structuredContent } = (await client.callTool({ name, arguments: args })) as Result;
          const code = structuredContent?.['reason_code'];
          if (code === 'quiescing') seen.quiescing += 1;
          else if (code === 'runtime_unproven') seen.unproven += 1;
          else {
            const wanted = name === 'seq' ? '1\n2\n' : `${number}-${round}\n`;
            if (content[0]?.text !== wanted) lost.push(`another answer: ${JSON.stringify(content)}`);
            if (name === 'echo') seen.changed += 1;
          }
          seen.answered += 1;
        } catch (error) {
          lost.push(`${number}/${round}: ${(error as Error).message}`);
        }
        await pause(100 + (number % 7) * 10);
      }
    }
    const working = Array.from({ length: clients }, (_, number) => work(number));
    await until('all call', () => seen.answered > clients);
    let waits = 0;
    for (let count = 0; count < restarts; count += 1) {
      const asked = { namespace: 'load', mode: 'restart', confirm: 'restart load' };
      const { answer, outcome } = await askRestart(env, 'load', asked, true, () => (waits += 1));
      assert.deepEqual(
        [answer.allowed, answer.reason_code, outcome?.result, outcome?.reason],
        [true, 'host_action_required', 'restarted', null],
      );
      await proven();
      const before = seen.changed;
      await until('changes run again', () => seen.changed > before);
    }
    over = true;
    await Promise.all(working);
    t.diagnostic(JSON.stringify({ ...seen, waits }));
    assert.deepEqual([lost, warnings], [[], []]);
    assert.deepEqual(await readdir(path.dirname(session.socket)), ['gateway.sock']);
    await until(
      'the replaced ones are gone',
      async () => (await readdir(session.dir)).filter((name) => name.startsWith('gateway-')).length === 1,
    );
    assert.ok((await stat(session.socket)).isSocket());
  },
);
