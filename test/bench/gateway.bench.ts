/**
 * The gateway beside the floor (node:http and a raw spawn), call by call in turn, so that a neighbour's burst hits both.
 * Prints medians and ratios; the goals are G2, G4, G5, G8 to G12. Run: node test/bench/gateway.bench.ts [CALLS]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as http from 'node:http';
import os from 'node:os';
import path from 'node:path';

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

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const at = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function interleaved(
  works: Record<string, () => Promise<unknown>>,
  rounds: number,
): Promise<Record<string, number>> {
  const times = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, work] of Object.entries(works)) times.get(name)?.push(await timed(work));
  return Object.fromEntries(
    [...times].map(([name, list]) => [name, median(list.slice(Math.floor(rounds / 10)))]),
  );
}

async function throughput(
  work: () => Promise<unknown>,
  concurrency: number,
  total: number,
): Promise<{ perSecond: number; fairness: number }> {
  const times: number[] = [];
  let left = total;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) times.push(await timed(work));
    }),
  );
  return {
    perSecond: (total / (performance.now() - began)) * 1000,
    fairness: at(times, 0.99) / median(times),
  };
}

const rss = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
const show = (label: string, value: number, unit = '') =>
  process.stdout.write(`${label.padEnd(58)} ${value.toFixed(2)}${unit}\n`);

/** Of a process until now; a tick has 10 ms. */
function cpuMs(pid: number): number {
  const fields = fs
    .readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** In turn, so that a neighbour's burst hits all alike. */
async function starts(): Promise<void> {
  const ended = async (...args: string[]) => {
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    await once(child, 'close');
  };
  const program = path.resolve('src/main.ts');
  const serve = ['serve', '--config', path.join(dir, 'config.yaml'), '--json'];
  const gateway = async () => {
    // Its socket is the first one's.
    const own = path.join(dir, 'second.yaml');
    const text = fs.readFileSync(path.join(dir, 'config.yaml'), 'utf8').replace(`, socket: ${socket}`, '');
    fs.writeFileSync(own, text, { mode: 0o600 });
    const { line } = await start([program, ...serve.map((word) => (word.endsWith('.yaml') ? own : word))]);
    await gatewayAt({
      host: '127.0.0.1',
      port: Number(new URL((JSON.parse(line) as { url: string }).url).port),
    });
    const last = children.at(-1)!;
    cpu.push(cpuMs(last.pid ?? 0));
    last.kill('SIGKILL');
    await once(last, 'close');
  };
  const cpu: number[] = [];
  const medians: Record<string, number[]> = { bare: [], initialize: [], version: [], help: [] };
  for (let round = 0; round < 9; round += 1) {
    medians['bare']?.push(await timed(() => ended('-e', '0')));
    medians['initialize']?.push(await timed(gateway));
    medians['version']?.push(await timed(() => ended(program, '--version')));
    medians['help']?.push(await timed(() => ended(program, '--help')));
  }
  const of = (name: string) => median(medians[name] ?? []);
  show('bare `node -e 0`', of('bare'), ' ms');
  show(
    'start to first initialize (and its end), minus bare (G10: 130)',
    of('initialize') - of('bare'),
    ' ms',
  );
  show('--version / bare (G11: 1.5)', of('version') / of('bare'));
  show('--help / bare (G11: 1.5)', of('help') / of('bare'));
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
  await starts();
  show('idle RSS, gateway / floor (G12: 1.8)', rss(gateway.pid) / rss(floor.pid));

  const run = (target: Target) => () => rpc(target, 'tools/call', { name: 'true', arguments: {} });
  const ping = (target: Target) => () => rpc(target, 'ping', {});
  const one = await interleaved({ floor: run(base), tcp: run(tcp), unix: run(unix) }, calls);
  show('`true`, floor, median', one['floor'] ?? NaN, ' ms');
  show('`true`, gateway on TCP, median', one['tcp'] ?? NaN, ' ms');
  show('`true`, gateway / floor (G2: 1.5)', (one['tcp'] ?? NaN) / (one['floor'] ?? NaN));
  show('`true`, Unix / TCP', (one['unix'] ?? NaN) / (one['tcp'] ?? NaN));
  const wire = await interleaved({ floor: ping(base), tcp: ping(tcp), unix: ping(unix) }, calls * 3);
  show('ping, gateway / floor', (wire['tcp'] ?? NaN) / (wire['floor'] ?? NaN));

  const echo = (target: Target, name: string) => () =>
    rpc(target, 'tools/call', { name, arguments: { value: 'hi' } });
  const hop = await interleaved({ floor: echo(base, 'echo'), up: echo(tcp, 'up__echo') }, calls);
  show('echo by an upstream server, gateway / floor (G8: 3.0)', (hop['up'] ?? NaN) / (hop['floor'] ?? NaN));

  for (const concurrency of [8, 64]) {
    const rates: { floor: number[]; gateway: number[]; fairness: number[] } = {
      floor: [],
      gateway: [],
      fairness: [],
    };
    for (let round = 0; round < 3; round += 1) {
      rates.floor.push((await throughput(run(base), concurrency, calls)).perSecond);
      const { perSecond, fairness } = await throughput(run(tcp), concurrency, calls);
      rates.gateway.push(perSecond);
      rates.fairness.push(fairness);
    }
    show(
      `\`true\` at ${concurrency} at once, gateway / floor (G4: 0.6)`,
      median(rates.gateway) / median(rates.floor),
    );
    if (concurrency === 64) show('`true` at 64 at once, p99 / median (G5: 5)', median(rates.fairness));
  }
  const pings: Record<string, number[]> = { floor: [], tcp: [], unix: [] };
  for (let round = 0; round < 3; round += 1)
    for (const [name, target] of Object.entries({ floor: base, tcp, unix }))
      pings[name]?.push((await throughput(ping(target), 64, calls * 5)).perSecond);
  const rate = (name: string) => median(pings[name] ?? []);
  show('ping at 64 at once, gateway / floor (G9: 0.20)', rate('tcp') / rate('floor'));
  show('ping at 64 at once, Unix / TCP (G9: 0.9)', rate('unix') / rate('tcp'));
  show('RSS afterwards, gateway / floor (G12: 2.0)', rss(gateway.pid) / rss(floor.pid));
  await throughput(run(tcp), 8, 1_000);
  const [early, floorEarly] = [rss(gateway.pid), rss(floor.pid)];
  await throughput(run(tcp), 8, Math.max(0, calls * 20));
  show(`RSS after ${calls * 20} more calls / before (G12: 1.2)`, rss(gateway.pid) / early);
  show('RSS of the floor, unchanged', floorEarly, ' MiB');
} finally {
  for (const child of children) child.kill('SIGTERM');
  fs.rmSync(dir, { recursive: true, force: true });
}
