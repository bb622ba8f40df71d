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
import { parseConfig } from '../../src/config/load.ts';
import { readLog } from '../../src/log/read.ts';
import { rawClient } from '../gateway/raw.ts';
import { token } from '../gateway/support.ts';

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

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const show = (label: string, value: number, unit = '') =>
  process.stdout.write(`${label.padEnd(62)} ${value.toFixed(2)}${unit}\n`);

async function told(rules: number, count: number): Promise<number> {
  save(config(rules, 0));
  const gateway = await start();
  let heard = 0;
  const leave = await Promise.all(
    Array.from({ length: clients }, async () => (await rawClient(gateway.url)).listen(() => (heard += 1))),
  );
  const times: number[] = [];
  for (let round = 1; round <= count; round += 1) {
    heard = 0;
    const began = performance.now();
    save(config(rules, round));
    while (heard < clients) await new Promise((resolve) => setImmediate(resolve));
    times.push(performance.now() - began - quietMs);
  }
  for (const one of leave) one();
  await gateway.stop();
  return median(times);
}

function parsed(rules: number, count: number): number {
  const times: number[] = [];
  for (let round = 0; round < count; round += 1) {
    const bytes = Buffer.from(config(rules, round));
    const began = performance.now();
    parseConfig(bytes, { file, real: file, env: { HOME: dir } });
    times.push(performance.now() - began);
  }
  return median(times);
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
  show('20 rules: save to the last of 64, without the wait (G13: 50)', await told(20, rounds), ' ms');
  const [whole, alone] = [await told(2_000, rounds), parsed(2_000, rounds)];
  show('2,000 rules: the same', whole, ' ms');
  show('2,000 rules: the same / parsing in process (G14: 1.3)', whole / alone);
  for (const kind of ['rename', 'in place', 'link'] as const)
    show(`${saves} saves (${kind}): missed (G18: 0)`, await missed(kind, saves));
  let kept = 0;
  for await (const { record } of readLog(log))
    if (record.event === 'reload' && record.result === 'kept') kept += 1;
  show('reloads that were refused', kept);
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}
