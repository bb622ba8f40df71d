/** One session of a real client with a prompt of its own, from the operator's `up` to its exit code. */
import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { Step } from '../../support/mock-model.ts';
import { startModel, type Model } from '../model-inside.ts';
import { gitConfig, place, type Place } from '../place.ts';
import type { Client } from './table.ts';

/** Where an operator's own installations would be: each client is installed once for all tests. */
export const cacheFolder = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');

/** The harness HOME that the sessions of a test use. */
export const homeName = 'test';

/** A place whose operator passes what the client needs, with the client installed. */
export async function ready(t: TestContext, client: Client): Promise<Place> {
  const where = await place(t);
  where.env['XDG_CACHE_HOME'] = cacheFolder;
  Object.assign(where.env, client.env);
  await configure(where, client);
  const installed = await where.wraptool(['harness', 'install', client.name]);
  assert.equal(installed.code, 0, installed.stderr);
  await client.prepare?.(where, homeOf(where, client));
  return where;
}

/** Writes the config, with `rules` before those for git that it has. */
export async function configure(where: Place, client: Client, rules = ''): Promise<void> {
  const tools = gitConfig.replace('    allow:\n', `    allow:\n${rules}`);
  const passed = JSON.stringify(Object.keys(client.env));
  await where.writeConfig(
    `${tools}up:\n  base_image: wraptool-test-base\n  network: none\n  harness_env: ${passed}\n`,
  );
}

export function homeOf(where: Place, client: Client): string {
  return path.join(where.home, '.local/state/wraptool/homes', client.name, homeName);
}

export type Ran = {
  readonly model: Model;
  /** Exit code and all that was said, once it has ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
};

/** Starts the client on one prompt; resolves when its model is there. */
export async function prompted(
  t: TestContext,
  where: Place,
  client: Client,
  options: {
    readonly runtime: string;
    readonly session: string;
    readonly script: readonly Step[];
    /** Further flags of `up`. */
    readonly flags?: readonly string[];
  },
): Promise<Ran> {
  const child = where.start([
    'up',
    client.name,
    '--runtime',
    options.runtime,
    '--name',
    options.session,
    '--home',
    homeName,
    ...(options.flags ?? []),
    '--',
    ...client.args,
    ...client.prompt('say what git status says'),
  ]);
  t.after(() => child.kill());
  child.stdin?.end();
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  );
  const model = await Promise.race([
    startModel(t, where, options.session, options.script),
    ended.then(({ code, output: said }) => {
      throw new Error(`${client.name} ended with ${code} before its model was there:\n${said}`);
    }),
  ]);
  return { model, ended };
}
