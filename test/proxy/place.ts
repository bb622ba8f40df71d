/** A place for upstream servers: their folders, what they told, and that nothing of them is left. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { createUpstreams } from '../../src/proxy/upstreams.ts';
import type {
  McpServerConfig,
  UpstreamCallOptions,
  UpstreamDeps,
  UpstreamEvent,
  UpstreamOutcome,
  UpstreamResult,
  Upstreams,
} from '../../src/proxy/types.ts';
import { tools } from '../fixtures/mcp/tools.ts';

export const secret = 'hunter2-correct-horse';

const scrubText = (text: string) => text.replaceAll(secret, '[redacted:SECRET]');

/** As the real one: whole lines at a time. */
function scrubStream() {
  let rest = '';
  return {
    push: (chunk: string) => {
      const text = rest + chunk;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      return scrubText(text.slice(0, end));
    },
    end: () => scrubText(rest),
  };
}

export const scrub = { scrub: scrubText, stream: scrubStream };

export type Place = {
  readonly dir: string;
  readonly stateDir: string;
  readonly runDir: string;
  readonly events: UpstreamEvent[];
  /** Config of the fixture with these flags; every tool of it is allowed. */
  server(flags?: readonly string[], changes?: Partial<McpServerConfig>): McpServerConfig;
  start(config: Readonly<Record<string, McpServerConfig>>, deps?: Partial<UpstreamDeps>): Upstreams;
  /** Processes of servers of this place, the keepers not counted. */
  processes(): number[];
  kinds(server: string): string[];
  output(server: string): string[];
};

export async function place(t: TestContext): Promise<Place> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'upstream-')));
  const mark = randomUUID();
  const [stateDir, runDir] = [path.join(dir, 'state'), path.join(dir, 'run')];
  await mkdir(runDir);
  const events: UpstreamEvent[] = [];
  const started: Upstreams[] = [];
  t.after(async () => {
    await Promise.all(started.map((upstreams) => upstreams.close()));
    const left = { processes: marked(mark), folders: await readdir(runDir) };
    await rm(dir, { recursive: true, force: true });
    assert.deepEqual(left, { processes: [], folders: [] });
  });
  return {
    dir,
    stateDir,
    runDir,
    events,
    server: (flags = [], changes = {}) => ({
      command: process.execPath,
      args: [path.join(import.meta.dirname, '../fixtures/mcp/server.ts'), ...flags],
      cwd: null,
      allow: Object.keys(tools),
      deny: [],
      start: 'lazy',
      pin: true,
      timeout: 20_000,
      ...changes,
      env: { MARK: mark, ...changes.env },
    }),
    start: (config, deps = {}) => {
      const upstreams = createUpstreams(config, {
        scrub,
        onEvent: (event) => events.push(event),
        home: '/root',
        stateDir,
        runDir,
        client: { name: 'wraptool', version: '0' },
        ...deps,
        limits: { closeMs: 200, termMs: 300, backoffMs: () => 0, ...deps.limits },
      });
      started.push(upstreams);
      return upstreams;
    },
    processes: () => marked(mark),
    kinds: (server) => events.filter((event) => event.server === server).map(({ kind }) => kind),
    output: (server) =>
      events.flatMap((event) => (event.server === server && event.kind === 'output' ? [event.line] : [])),
  };
}

function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environment(pid).includes(`MARK=${mark}`))
    .map(Number);
}

function environment(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return '';
    throw error;
  }
}

export function call(
  upstreams: Upstreams,
  name: string,
  args: unknown = {},
  options: Partial<UpstreamCallOptions> = {},
): Promise<UpstreamOutcome> {
  return upstreams.call(name, args, { signal: new AbortController().signal, ...options });
}

/** The result of a call that ran. */
export async function result(...args: Parameters<typeof call>): Promise<UpstreamResult> {
  const outcome = await call(...args);
  assert.equal(outcome.kind, 'finished', JSON.stringify(outcome));
  return (outcome as Extract<UpstreamOutcome, { kind: 'finished' }>).result;
}

/** Its text, with "error: " in front of a tool error. */
export async function textOf(...args: Parameters<typeof call>): Promise<string> {
  const { content, isError } = await result(...args);
  const text = content.map((block) => String(block['text'])).join('\n');
  return isError ? `error: ${text}` : text;
}

export async function until(condition: () => boolean, what: string, ms = 15_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `in ${ms} ms it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The list once the servers have been asked. */
export async function listed(upstreams: Upstreams, server: string): Promise<readonly string[]> {
  upstreams.list();
  await until(
    () => ['ready', 'failed'].includes(upstreams.status().find((one) => one.server === server)?.state ?? ''),
    `'${server}' was started`,
  );
  return upstreams.list({ start: false }).map(({ name }) => name);
}
