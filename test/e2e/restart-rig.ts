/** A session whose gateway is restarted, as the operator does it, and its clients inside. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { gitConfig, until, type Place } from './place.ts';
import { main } from '../support/main.ts';
import { dirOf, live, readyPlace, type Live } from './session.ts';

export type Json = Record<string, unknown>;

export const config = `${gitConfig}up: { base_image: wraptool-test-base, network: none }
`;

export async function restart(
  where: Place,
  ...words: string[]
): Promise<{ code: number | null; json: Json }> {
  const { code, stdout, stderr } = await where.wraptool(['restart', ...words, '--json']);
  assert.notEqual(stdout, '', stderr);
  return { code, json: JSON.parse(stdout) as Json };
}

export const now = (where: Place, mode = 'restart', name = 'life') =>
  restart(where, name, '--mode', mode, '--confirm', `${mode} ${name}`, '--wait');

/** One call by a client inside, over the relay's stdio. */
export async function structured(where: Place, name: string, args: Json): Promise<Json> {
  const { relay, ask } = clientIn(where);
  const gone = once(relay, 'exit').then(([code]) => {
    throw new Error(`the relay ended with ${code}`);
  });
  const asked = async () => {
    await ask('initialize', hello);
    return await ask('tools/call', { name, arguments: args });
  };
  try {
    const { structuredContent } = await Promise.race([asked(), gone]);
    return structuredContent as Json;
  } finally {
    gone.catch(() => undefined);
    relay.kill('SIGTERM');
  }
}

export const hello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'inside', version: '1' },
};

/** `tools`: further ones, as YAML. */
export async function session(t: TestContext, more = '', runtime = 'bubblewrap', tools = ''): Promise<Live> {
  const where = await readyPlace(t, runtime);
  await where.writeConfig(config.replace('tools:\n', `tools:\n${tools}`) + more);
  return live(t, runtime, { where, up: ['--allow-restart'] });
}

export async function gatewayOf(where: Place): Promise<number> {
  const state = JSON.parse(await readFile(path.join(dirOf(where, 'life'), 'session.json'), 'utf8')) as {
    gateway: { pid: number } | null;
  };
  return state.gateway?.pid ?? 0;
}

type Client = { readonly relay: ChildProcess; readonly ask: (method: string, params: Json) => Promise<Json> };

function clientIn(where: Place): Client {
  const relay = where.start([
    'exec',
    'life',
    '--',
    '/opt/wraptool/node/bin/node',
    `/opt/wraptool/relay/main${path.extname(main)}`,
  ]);
  const waiting = new Map<number, (result: Json) => void>();
  const lines = createInterface({ input: relay.stdout as NodeJS.ReadableStream });
  lines.on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as { id?: number; result?: Json; error?: Json };
    if (id !== undefined) waiting.get(id)?.(result ?? { error });
  });
  let count = 0;
  const ask: Client['ask'] = (method, params) =>
    new Promise((resolve) => {
      count += 1;
      waiting.set(count, resolve);
      relay.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: count, method, params })}\n`);
    });
  return { relay, ask };
}

/** A client on the relay's stdio, as a harness is: it stays, whatever becomes of the gateway. */
export function inside(t: TestContext, where: Place): Client['ask'] {
  const { relay, ask } = clientIn(where);
  t.after(() => relay.kill('SIGTERM'));
  return ask;
}

export async function allRecords(where: Place): Promise<Json[]> {
  const dir = path.join(where.home, '.local', 'state', 'wraptool', 'log');
  const files = (await readdir(dir)).filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(files.map((name) => readFile(path.join(dir, name), 'utf8')));
  return texts
    .flatMap((text) => text.split('\n').filter((line) => line !== ''))
    .map((line) => JSON.parse(line) as Json);
}

/** A call that was allowed and has not ended. */
export function inFlight(one: Json, _index: number, all: readonly Json[]): boolean {
  const { event, decision, tool, call } = one;
  if (event !== 'decided' || decision !== 'allow' || tool !== 'sleep') return false;
  return !all.some((other) => other['event'] === 'finished' && other['call'] === call);
}

export async function records(where: Place): Promise<Json[]> {
  return (await allRecords(where))
    .filter(({ event }) => event === 'restart' || event === 'contamination')
    .sort((a, b) => (String(a['time']) < String(b['time']) ? -1 : 1));
}

export async function exists(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A tool that takes its time, as YAML. */
export const slow = '  sleep: { binary: /usr/bin/sleep, allow: [{ args: [{ pattern: "[0-9]{1,2}" }] }] }\n';

/** A call that holds up whoever waits for the calls in flight. */
export async function callThatLasts(t: TestContext, where: Place): Promise<void> {
  const client = inside(t, where);
  const clientInfo = { name: 'x', version: '1' };
  await client('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  void client('tools/call', { name: 'sleep', arguments: { args: ['60'] } });
  await until('it is in flight', async () => (await allRecords(where)).some(inFlight), 60_000);
}
