/** The official suite, against the gateway in front of the fixture and against the fixture alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { connect, token, world } from '../gateway/support.ts';
import { until } from '../support/until.ts';
import { startFront } from './front.ts';

const fixture = path.resolve('test/fixtures/mcp/conformance.ts');
const suite = path.resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');

export const tools = [
  'json_schema_2020_12_tool',
  'test_audio_content',
  'test_custom_headers',
  'test_elicitation',
  'test_elicitation_sep1034_defaults',
  'test_elicitation_sep1330_enums',
  'test_embedded_resource',
  'test_error_handling',
  'test_image_content',
  'test_multiple_content_types',
  'test_sampling',
  'test_simple_text',
  'test_tool_with_logging',
  'test_tool_with_progress',
];

/** URL of a gateway that proxies the fixture, as the suite can use it. */
export async function gatewayUrl(t: TestContext): Promise<string> {
  const server = { command: process.execPath, args: [fixture, 'stdio'], allow: tools, start: 'eager' };
  const it = world(t, (config) => `${config}mcp_servers:\n  c: ${JSON.stringify(server)}\n`);
  const { ready } = await it.serve();
  const client = await connect(t, ready.url ?? '');
  await until('the fixture is listed', async () =>
    (await client.listTools()).tools.some(({ name }) => name === 'c__test_simple_text'),
  );
  const front = await startFront(ready.url ?? '', { token, prefix: 'c__', tools: new Set(tools) });
  t.after(() => front.close());
  return front.url;
}

/** URL of the fixture itself. */
export async function fixtureUrl(t: TestContext): Promise<string> {
  const child = spawn(process.execPath, [fixture, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return line.replace('ready ', '');
}

export type Run = {
  readonly code: number | null;
  readonly output: string;
  /** Scenario to its checks: id and status. */
  readonly checks: Readonly<Record<string, readonly string[]>>;
};

export async function runSuite(t: TestContext, url: string, ...args: string[]): Promise<Run> {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-conformance-'));
  t.after(() => fs.rmSync(out, { recursive: true, force: true }));
  const child = spawn(process.execPath, [suite, 'server', '--url', url, '-o', out, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, checks: readChecks(out) };
}

function readChecks(out: string): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const folder of fs.readdirSync(out)) {
    const file = path.join(out, folder, 'checks.json');
    if (!fs.existsSync(file)) continue;
    const checks = JSON.parse(fs.readFileSync(file, 'utf8')) as { id: string; status: string }[];
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    found[scenario] = checks.map(({ id, status }) => `${status} ${id}`);
  }
  return found;
}
