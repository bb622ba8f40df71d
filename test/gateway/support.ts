/** A real `wraptool serve` with a real config, and the real SDK client. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { main } from '../support/main.ts';

export { main };

export const token = 'the-token-of-this-gateway';

export type Ready = { event: 'ready'; url: string | null; socket: string | null; pid: number };

export type World = {
  readonly dir: string;
  readonly src: string;
  readonly log: string;
  readonly config: string;
  readonly env: Record<string, string>;
  serve(options?: {
    args?: string[];
    env?: Record<string, string>;
    stdin?: 'pipe' | 'ignore';
  }): Promise<Gateway>;
};

export type Gateway = { readonly child: ChildProcess; readonly ready: Ready; readonly stderr: () => string };

const policy = (dir: string) => `version: 1
mcp:
  allowed_cwd_roots: [${dir}/src]
requests: { log: ${dir}/log }
defaults: { timeout: 20s }
scrub: { values_from_env: [A_SECRET] }
tools:
  echo:
    binary: /usr/bin/echo
    guard: none
    allow:
      - { args: any }
  seq:
    binary: /usr/bin/seq
    guard: none
    allow: [{ rest: { pattern: '[0-9]+' }, read_only: true }]
  sleep:
    binary: /usr/bin/sleep
    guard: none
    timeout: 5s
    allow: [{ args: [{ pattern: '[0-9]+' }] }]
  cat:
    binary: /usr/bin/cat
    guard: none
    allow: [{ args: [{ pattern: '[a-z]+', optional: true }], stdin: true }]
  pwd:
    binary: /usr/bin/pwd
    guard: none
    allow: [{ read_only: true }]
  nothing:
    binary: /usr/bin/true
`;

export function world(t: TestContext, change: (config: string) => string = (text) => text): World {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-serve-')));
  const config = path.join(dir, 'config.yaml');
  fs.mkdirSync(path.join(dir, 'src'));
  fs.mkdirSync(path.join(dir, 'home'));
  fs.writeFileSync(config, change(policy(dir)), { mode: 0o600 });
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: path.join(dir, 'home'),
    WRAPTOOL_TOKEN: token,
    A_SECRET: 'correct-horse-battery',
  };
  const children: ChildProcess[] = [];
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
    // What they started may be writing its last.
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return {
    dir,
    src: path.join(dir, 'src'),
    log: path.join(dir, 'log'),
    config,
    env,
    async serve(options = {}) {
      const args = options.args ?? ['serve', '--config', config, '--json'];
      const child = spawn(process.execPath, [main, ...args], {
        env: { ...env, ...options.env },
        stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
      });
      children.push(child);
      let stderr = '';
      child.stderr?.on('data', (chunk: Buffer) => (stderr += String(chunk)));
      const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
      const first = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown];
      if (typeof first[0] !== 'string')
        throw new Error(`the gateway ended with ${String(first[0])}: ${stderr}`);
      const said = first[0].startsWith('{') ? (JSON.parse(first[0]) as Ready) : null;
      const ready = said ?? { event: 'ready', url: first[0], socket: null, pid: child.pid ?? 0 };
      return { child, ready, stderr: () => stderr };
    },
  };
}

export async function connect(t: TestContext, url: string, cwd?: string): Promise<Client> {
  const client = new Client({ name: 'sdk', version: '1' });
  const query = cwd === undefined ? '' : `?cwd=${encodeURIComponent(cwd)}`;
  const transport = new StreamableHTTPClientTransport(new URL(url + query), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as Transport);
  t.after(() => client.close());
  return client;
}

export type Result = {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

export const call = async (
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Result> => (await client.callTool({ name, arguments: args })) as Result;

export const textOf = ({ content }: Result): string => content.map(({ text }) => text).join('');
