/** A gateway without tools of its own: what the wires carry, and nothing else. */
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { CallOptions, Caller, Core, ToolDescription, ToolResult } from '../../../src/gateway/core.ts';
import { listen, type Listening, type ListenOptions } from '../../../src/gateway/transport/listen.ts';

export const token = 'a-token-of-this-test';

export type FakeCore = Core & {
  readonly calls: { caller: Caller; name: string; args: unknown }[];
  readonly cancelled: string[];
  tools: ToolDescription[];
  changed(): void;
};

const text = (value: string): ToolResult => ({ content: [{ type: 'text', text: value }], isError: false });

export function fakeCore(): FakeCore {
  const listeners = new Set<() => void>();
  const core: FakeCore = {
    calls: [],
    cancelled: [],
    tools: [{ name: 'echo', description: 'says it again', inputSchema: { type: 'object' } }],
    forwardsLogs: () => false,
    configHash: () => 'c'.repeat(64),
    ready: async () => {},
    listTools: () => core.tools,
    async callTool(caller, name, args, options) {
      core.calls.push({ caller, name, args });
      return answer(core, name, args as Record<string, unknown>, options);
    },
    onToolsChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed() {
      for (const listener of listeners) listener();
    },
  };
  return core;
}

async function answer(
  core: FakeCore,
  name: string,
  args: Record<string, unknown>,
  options: CallOptions,
): Promise<ToolResult> {
  if (name === 'echo') return text(JSON.stringify(args));
  if (name === 'facts') return { ...text('x'), _meta: { 'wraptool/facts': 1 } };
  if (name === 'fail') throw new Error('a secret of the gateway');
  if (name === 'hang') {
    await new Promise<void>((resolve) => options.signal.addEventListener('abort', () => resolve()));
    core.cancelled.push(name);
    return text('cancelled');
  }
  if (name === 'slow') {
    for (let i = 0; i < 3; i += 1) {
      options.progress?.({ message: `line ${i}` });
      await wait(5);
    }
    return text('done');
  }
  if (name === 'late') {
    await wait(60);
    return text('late');
  }
  return { ...text(`no tool ${name}`), isError: true };
}

export type Rig = { core: FakeCore; listening: Listening; url: string; socket: string; faults: unknown[] };

export async function rig(
  t: { after(fn: () => Promise<void>): void },
  options: Partial<ListenOptions> = {},
): Promise<Rig> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-wire-'));
  const core = fakeCore();
  const faults: unknown[] = [];
  const socket = path.join(dir, 's', 'gateway.sock');
  const listening = await listen({
    core,
    token,
    about: { name: 'wraptool', version: '0.0.0', instructions: 'test' },
    tcp: { host: '127.0.0.1', port: 0 },
    socket: { path: socket },
    fault: (error) => faults.push(error),
    ...options,
  });
  t.after(async () => {
    await listening.close();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  return { core, listening, url: listening.url ?? '', socket, faults };
}
