/** A gateway with a client that asks, and an operator's commands beside it. */
import { execFile } from 'node:child_process';
import type { TestContext } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { call, connect, main, world, type Gateway, type Result, type World } from '../gateway/support.ts';

export type Said = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type Ground = {
  readonly it: World;
  readonly gateway: Gateway;
  readonly client: Client;
  /** The operator’s command line, without a terminal. */
  readonly wraptool: (...args: string[]) => Promise<Said>;
  readonly run: (argv: readonly string[], tool?: string) => Promise<Result>;
  readonly ask: (request: Record<string, unknown>) => Promise<Record<string, unknown>>;
};

export function command(it: Pick<World, 'config' | 'env'>, args: readonly string[]): Promise<Said> {
  const [group = '', ...rest] = args;
  const env = { PATH: '/usr/bin:/bin', HOME: it.env['HOME'] ?? '', WRAPTOOL_CONFIG: it.config };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, group, ...rest], { env }, (error, stdout, stderr) => {
      const { code } = (error ?? { code: 0 }) as { code: number };
      resolve({ code, stdout, stderr });
    });
    child.stdin?.end();
  });
}

/** `date` with no allow rules but `--utc`; `seq` with some. */
export const tools = `
  date:
    binary: /usr/bin/date
    guard: none
    allow:
      - flags: [--utc]   # the hour of the ships
        flag_constraints: { --utc: { value: none } }
`;

export async function ground(
  t: TestContext,
  change: (config: string) => string = (config) => config.replace('\ntools:\n', `\ntools:${tools}`),
): Promise<Ground> {
  const it = world(t, change);
  const gateway = await it.serve();
  const client = await connect(t, gateway.ready.url ?? '', it.src);
  return {
    it,
    gateway,
    client,
    wraptool: (...args) => command(it, args),
    run: (argv, tool = 'date') => call(client, 'wraptool_run', { tool, argv }),
    ask: async (request) =>
      (await call(client, 'wraptool_request_capability', request)).structuredContent ?? {},
  };
}

/** What a denial says to send, with a reason of one’s own. */
export function requestOf(denial: Result): Record<string, unknown> {
  return { ...(denial.structuredContent?.['request'] as object), rationale: 'to know the time' };
}

export const parsed = ({ stdout }: Said): Record<string, unknown> =>
  JSON.parse(stdout) as Record<string, unknown>;
