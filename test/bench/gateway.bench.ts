/**
 * The gateway beside the floor (node:http and a raw spawn), call by call in turn, so that a neighbour's burst hits both.
 * Goals G1, G2, G4 to G6, G8, G9 and G12. Run: node test/bench/gateway.bench.ts [CALLS]
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { cpuOfTree, interleaved, median, residentMiB as rss, say, throughput } from './measure.ts';

const calls = Number(process.argv[2] ?? 300);
const token = 'bench-token';
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-bench-')));
const socket = path.join(dir, 'run', 'gateway.sock');
const children: ChildProcess[] = [];

fs.mkdirSync(path.join(dir, 'src'));
fs.writeFileSync(
  path.join(dir, 'config.yaml'),
  `version: 1
mcp: { allowed_cwd_roots: [${dir}/src], socket: ${socket} }
requests: { log: ${dir}/log }
tools: { 'true': { binary: /usr/bin/true, guard: none, max_concurrent: 64, allow: [{ read_only: true }] } }
mcp_servers: { up: { command: ${process.execPath}, args: [${path.resolve('test/fixtures/mcp/server.ts')}], allow: [echo], start: eager } }
`,
  { mode: 0o600 },
);

async function start(args: string[]): Promise<{ line: string; pid: number; ms: number }> {
  const began = performance.now();
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, WRAPTOOL_TOKEN: token };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { line: line.toString(), pid: child.pid ?? 0, ms: performance.now() - began };
}

type Target = { agent: http.Agent; options: http.RequestOptions; headers: Record<string, string> };
let id = 0;

async function rpc(target: Target, method: string, params: object): Promise<http.IncomingHttpHeaders> {
  id += 1;
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json',
    'content-length': Buffer.byteLength(body),
    ...target.headers,
  };
  const req = http.request({ ...target.options, method: 'POST', agent: target.agent, headers });
  req.end(body);
  const [res] = (await once(req, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const chunk of res.setEncoding('utf8')) text += String(chunk);
  if (res.statusCode !== 200 || text.includes('"isError":true'))
    throw new Error(`${res.statusCode}: ${text}`);
  return res.headers;
}

async function gatewayAt(options: http.RequestOptions): Promise<Target> {
  const target: Target = {
    agent: new http.Agent({ keepAlive: true, maxSockets: 64 }),
    options: { ...options, path: `/mcp?cwd=${encodeURIComponent(path.join(dir, 'src'))}` },
    headers: { host: 'localhost' },
  };
  const found = await rpc(target, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
  target.headers['mcp-session-id'] = String(found['mcp-session-id']);
  return target;
}

try {
  const floor = await start([path.resolve('test/bench/floor.ts')]);
  const gateway = await start([
    path.resolve('src/main.ts'),
    'serve',
    '--config',
    path.join(dir, 'config.yaml'),
    '--json',
  ]);
  const { url } = JSON.parse(gateway.line) as { url: string };
  const base: Target = {
    agent: new http.Agent({ keepAlive: true, maxSockets: 64 }),
    options: { host: '127.0.0.1', port: Number(floor.line) },
    headers: {},
  };
  const tcp = await gatewayAt({ host: '127.0.0.1', port: Number(new URL(url).port) });
  const unix = await gatewayAt({ socketPath: socket });
  say({ what: 'start to ready line, gateway', value: gateway.ms, unit: ' ms' });
  say({ what: 'start to ready line, floor', value: floor.ms, unit: ' ms' });
  say({
    id: 'G12',
    what: 'idle memory, gateway / floor',
    value: rss(gateway.pid) / rss(floor.pid),
    must: 1.8,
    aim: 1.5,
  });

  const run = (target: Target) => () => rpc(target, 'tools/call', { name: 'true', arguments: {} });
  const ping = (target: Target) => () => rpc(target, 'ping', {});
  const raw = fork(path.resolve('test/bench/bare.ts'));
  children.push(raw);
  const spawned = async (): Promise<void> => {
    raw.send({ file: '/usr/bin/true', args: [], cwd: dir });
    await once(raw, 'message');
  };
  const one = await interleaved({ raw: spawned, floor: run(base), tcp: run(tcp), unix: run(unix) }, calls);
  say({ what: '`true`, raw spawn', value: one.raw, unit: ' ms' });
  say({ what: '`true`, gateway', value: one.tcp, unit: ' ms' });
  say({ id: 'G1', what: '`true`, gateway / raw spawn', value: one.tcp / one.raw, must: 2.2, aim: 1.8 });
  say({ id: 'G2', what: '`true`, gateway / floor', value: one.tcp / one.floor, must: 1.5, aim: 1.2 });
  say({ what: '`true`, Unix / TCP', value: one.unix / one.tcp });
  const wire = await interleaved({ floor: ping(base), tcp: ping(tcp) }, calls * 3);
  say({ what: 'ping, gateway / floor', value: wire.tcp / wire.floor });

  const echo = (target: Target, name: string) => () =>
    rpc(target, 'tools/call', { name, arguments: { value: 'hi' } });
  const hop = await interleaved({ floor: echo(base, 'echo'), up: echo(tcp, 'up__echo') }, calls);
  say({
    id: 'G8',
    what: 'echo by an upstream server, gateway / floor',
    value: hop.up / hop.floor,
    must: 3,
    aim: 2.4,
  });

  for (const concurrency of [8, 64]) {
    const rates = { floor: [] as number[], gateway: [] as number[], fairness: [] as number[] };
    const cpu = { floor: 0, gateway: 0 };
    for (let round = 0; round < 3; round += 1) {
      let before = cpuOfTree(floor.pid);
      rates.floor.push((await throughput(run(base), concurrency, calls)).perSecond);
      cpu.floor += cpuOfTree(floor.pid) - before;
      before = cpuOfTree(gateway.pid);
      const { perSecond, fairness } = await throughput(run(tcp), concurrency, calls);
      cpu.gateway += cpuOfTree(gateway.pid) - before;
      rates.gateway.push(perSecond);
      rates.fairness.push(fairness);
    }
    say({
      id: 'G4',
      what: `\`true\` at ${concurrency} at once, throughput, gateway / floor`,
      value: median(rates.gateway) / median(rates.floor),
      must: 0.6,
      aim: 0.9,
      atLeast: true,
    });
    if (concurrency === 64)
      say({
        id: 'G5',
        what: '`true` at 64 at once, p99 / median',
        value: median(rates.fairness),
        must: 5,
        aim: 2.5,
      });
    else
      say({
        id: 'G6',
        what: 'processor time of `true` at 8 at once, gateway / floor',
        value: cpu.gateway / cpu.floor,
        must: 1.6,
        aim: 1.25,
      });
  }
  const pings: Record<string, number[]> = { floor: [], tcp: [], unix: [] };
  for (let round = 0; round < 3; round += 1)
    for (const [name, target] of Object.entries({ floor: base, tcp, unix }))
      pings[name]?.push((await throughput(ping(target), 64, calls * 5)).perSecond);
  const rate = (name: string) => median(pings[name] ?? []);
  say({
    id: 'G9',
    what: 'ping at 64 at once, gateway / floor',
    value: rate('tcp') / rate('floor'),
    must: 0.2,
    aim: 0.5,
    atLeast: true,
  });
  say({
    id: 'G9',
    what: 'ping at 64 at once, Unix / TCP',
    value: rate('unix') / rate('tcp'),
    must: 0.9,
    aim: 1,
    atLeast: true,
  });
  say({
    id: 'G12',
    what: 'memory afterwards, gateway / floor',
    value: rss(gateway.pid) / rss(floor.pid),
    must: 2,
    aim: 1.5,
  });
  await throughput(run(tcp), 8, 1_000);
  const early = rss(gateway.pid);
  await throughput(run(tcp), 8, calls * 30);
  say({
    id: 'G12',
    what: `memory after ${calls * 30} more calls / before`,
    value: rss(gateway.pid) / early,
    must: 1.2,
    aim: 1.1,
  });
} finally {
  for (const child of children) child.kill('SIGTERM');
  fs.rmSync(dir, { recursive: true, force: true });
}
