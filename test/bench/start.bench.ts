/**
 * From nothing to the first answer: G10 (`serve`, in ms over bare Node) and G11 (`--version`, `--help` / bare Node), in
 * turn, and by the processor's time. What is run is what is published, built anew. Run: node test/bench/start.bench.ts
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { rawClient } from '../gateway/raw.ts';
import { token } from '../gateway/support.ts';
import { cpuOfTree, interleaved, median, say } from './measure.ts';

const rounds = Number(process.argv[2] ?? 9);
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-start-')));
const config = path.join(dir, 'config.yaml');
execFileSync('script/build');
const program = path.resolve('dist/main.js');
const env = { PATH: process.env['PATH'] ?? '', HOME: dir, WRAPTOOL_TOKEN: token };
const processor: number[] = [];

async function ended(...args: string[]): Promise<void> {
  await once(spawn(process.execPath, args, { stdio: 'ignore', env }), 'close');
}

async function initialized(end: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
  const child = spawn(process.execPath, [program, '--quiet', 'serve', '--config', config, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  await rawClient((JSON.parse(line) as { url: string }).url);
  processor.push(cpuOfTree(child.pid ?? 0));
  const closed = once(child, 'close');
  child.kill(end);
  await closed;
}

try {
  fs.writeFileSync(
    config,
    `version: 1\nrequests: { log: ${dir}/log }\ntools: { 'true': { binary: /usr/bin/true, allow: [{}] } }\n`,
    { mode: 0o600 },
  );
  // One that ends in order leaves its compiled code to the next.
  await initialized('SIGTERM');
  const { bare, serve, version, help } = await interleaved(
    {
      bare: () => ended('-e', '0'),
      serve: () => initialized(),
      version: () => ended(program, '--version'),
      help: () => ended(program, '--help'),
    },
    rounds,
  );
  say({ what: 'bare `node -e 0`', value: bare, unit: ' ms' });
  say({
    id: 'G10',
    what: 'start to first initialize, over bare',
    value: serve - bare,
    unit: ' ms',
    must: 130,
  });
  say({ what: 'its processor time, helper included', value: median(processor), unit: ' ms' });
  say({ id: 'G11', what: '`--version` / bare', value: version / bare, must: 1.5, aim: 1.2 });
  say({ id: 'G11', what: '`--help` / bare', value: help / bare, must: 1.5, aim: 1.2 });
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}
