/**
 * A save of the config until the last of 64 clients is told, without the 200 ms of quiet: G13 (20 rules), G14 (2,000,
 * beside parsing alone), and G18: saves that were missed. Run: node test/bench/reload.bench.ts [ROUNDS] [SAVES]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { configSchema } from '../../src/config/schema.ts';
import { rawClient } from '../gateway/raw.ts';
import { token } from '../gateway/support.ts';
import { median, say } from './measure.ts';

const rounds = Number(process.argv[2] ?? 12);
const saves = Number(process.argv[3] ?? 200);
const clients = 64;
const quietMs = 200;

const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-reload-')));
const file = path.join(dir, 'config.yaml');
const log = path.join(dir, 'log');

function config(rules: number, version: number): string {
  const each = Array.from(
    { length: rules },
    (_, index) => `      - { subcommand: sub${index}, flags: [--all, --name], args: [{ enum: [origin] }] }`,
  );
  return `version: 1
requests: { log: ${log} }
tools:
  true:
    binary: /usr/bin/true
    guard: none
    allow:
${each.join('\n')}
      - { subcommand: version${version} }
`.replace('  true:', "  'true':");
}

function save(text: string): void {
  fs.writeFileSync(`${file}.new`, text, { mode: 0o600 });
  fs.renameSync(`${file}.new`, file);
}

async function start(): Promise<{ url: string; stop(): Promise<void> }> {
  const args = [path.resolve('src/main.ts'), '--quiet', 'serve', '--config', file, '--json'];
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, WRAPTOOL_TOKEN: token };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Medians in ms: until the last client is told, and of `beside`, which has its turn after each save. */
async function told(
  rules: number,
  count: number,
  beside: (text: string) => void = () => undefined,
): Promise<{ reload: number; beside: number }> {
  save(config(rules, 0));
  const gateway = await start();
  let heard = 0;
  let all = (): void => undefined;
  const leave = await Promise.all(
    Array.from({ length: clients }, async () =>
      (await rawClient(gateway.url)).listen(() => {
        heard += 1;
        if (heard === clients) all();
      }),
    ),
  );
  const times = { reload: [] as number[], beside: [] as number[] };
  for (let round = 1; round <= count; round += 1) {
    heard = 0;
    const text = config(rules, round);
    // Waits without turning: the gateway needs its processor, and the collector of garbage the other one.
    const done = new Promise<void>((resolve) => (all = resolve));
    const began = performance.now();
    save(text);
    await done;
    times.reload.push(performance.now() - began - quietMs);
    const then = performance.now();
    beside(text);
    times.beside.push(performance.now() - then);
  }
  for (const one of leave) one();
  await gateway.stop();
  return { reload: median(times.reload), beside: median(times.beside) };
}

/** The least that a reload can do. */
function parsed(text: string): void {
  if (!configSchema.safeParse(parse(text)).success) throw new Error('the config of the bench is not valid');
}

/** Each save adds another tool; one of which no client is told was missed. */
async function missed(kind: 'rename' | 'in place' | 'link', count: number): Promise<number> {
  fs.rmSync(file, { force: true });
  save(config(2, 0));
  if (kind === 'link') {
    fs.renameSync(file, path.join(dir, 'version-0.yaml'));
    fs.symlinkSync('version-0.yaml', file);
  }
  const gateway = await start();
  const client = await rawClient(gateway.url);
  let heard = 0;
  const leave = await client.listen(() => (heard += 1));
  let lost = 0;
  for (let version = 1; version <= count; version += 1) {
    const text = config(2, version);
    if (kind === 'rename') save(text);
    else if (kind === 'in place') fs.writeFileSync(file, text);
    else {
      fs.writeFileSync(path.join(dir, `version-${version}.yaml`), text, { mode: 0o600 });
      fs.symlinkSync(`version-${version}.yaml`, `${file}.link`);
      fs.renameSync(`${file}.link`, file);
    }
    const inTime = AbortSignal.timeout(5_000);
    while (heard < version - lost && !inTime.aborted) await new Promise((resolve) => setTimeout(resolve, 1));
    if (heard < version - lost) lost += 1;
  }
  leave();
  await gateway.stop();
  return lost;
}

try {
  const wait = ' without the quiet time';
  say({
    id: 'G13',
    what: `20 rules, save to the last of 64,${wait}`,
    value: (await told(20, rounds)).reload,
    unit: ' ms',
    must: 50,
    aim: 20,
  });
  const { reload, beside } = await told(2_000, rounds, parsed);
  say({ what: `2,000 rules, save to the last of 64,${wait}`, value: reload, unit: ' ms' });
  say({ what: '2,000 rules, YAML.parse and the schema alone', value: beside, unit: ' ms' });
  say({
    id: 'G14',
    what: '2,000 rules / YAML.parse and the schema alone',
    value: reload / beside,
    must: 1.3,
    aim: 1.1,
  });
  for (const kind of ['rename', 'in place', 'link'] as const)
    say({ id: 'G18', what: `${saves} saves (${kind}), missed`, value: await missed(kind, saves), must: 0 });
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}
