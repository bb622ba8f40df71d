/**
 * What every client must go through in one prompt: a tool call, a denial, a reload that adds a tool, a gateway that is
 * killed and started again, the new command by its stable name.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { readLog } from '../../../src/log/read.ts';
import { isAlive, processRef } from '../../../src/supervise/process.ts';
import type { Step } from '../../support/mock-model.ts';
import { until } from '../../support/until.ts';
import { patience } from '../model-inside.ts';
import type { Place } from '../place.ts';
import { configure, prompted, ready } from './session.ts';
import type { Client } from './table.ts';

const denial = `DENIED: 'git push --force origin main' is not permitted.

Policy: flag '--force' is not in the allowlist for 'git push'.
Allowed flags for 'git push': --set-upstream

To request this capability, call the 'wraptool_request_capability' tool.`;

const listed = [
  'git_diff',
  'git_log',
  'git_push',
  'git_status',
  'wraptool_discover',
  'wraptool_request_capability',
  'wraptool_run',
];
const added = 'git_branch';

export async function scenario(t: TestContext, client: Client, runtime: string): Promise<void> {
  const where = await ready(t, client);
  await writeFile(path.join(where.workspace, 'draft.txt'), 'x\n');
  const session = `${client.name}-run`;
  const gates = {
    reloaded: path.join(where.dir, 'reloaded'),
    killed: path.join(where.dir, 'killed'),
    proven: path.join(where.dir, 'proven'),
  };
  const step = (tool: string, input: object, when?: string): Step => ({
    tool: `^${client.tool(tool).replaceAll('.', '\\.')}$`,
    input: { ...input },
    ...(when === undefined ? {} : { when }),
  });
  const { model, ended } = await prompted(t, where, client, {
    runtime,
    session,
    flags: ['--allow-restart'],
    script: [
      step('git_status', {}),
      step('git_push', { flags: { '--force': true }, args: ['origin', 'main'] }),
      step('git_log', { flags: { '--oneline': true } }, gates.reloaded),
      step('git_status', { flags: { '--short': true } }, gates.killed),
      step('wraptool_run', { tool: 'git', argv: ['branch'] }),
      { text: 'all done', when: gates.proven },
    ],
  });
  const answered = (count: number) =>
    model.until(`${count} answers to the model`, ({ results }) => results.length >= count);

  const first = await model.until('a request with tools', ({ tools }) => tools.length > 0);
  assert.deepEqual(offered(client, first.tools), [...listed].sort());

  await answered(2);
  const gateway = await gatewayOf(where, session);
  await nowhere(where, gateway.token, runtime, session);
  await configure(where, client, '      - { subcommand: branch, read_only: true }\n');
  await until('the gateway has reloaded', () => reloaded(where), patience);
  await writeFile(gates.reloaded, '');

  await answered(3);
  process.kill(gateway.pid, 'SIGKILL');
  await gateway.gone();
  // The next call finds no gateway at first.
  await writeFile(gates.killed, '');
  for (const words of [
    ['reconcile', session, '--note', 'killed by this test'],
    [session, '--confirm', `restart ${session}`, '--wait'],
  ]) {
    const { code: done, stdout, stderr } = await where.wraptool(['restart', ...words]);
    assert.equal(done, 0, stdout + stderr);
  }
  // The session lives until its gateway is proven: a probe inside would end with it.
  await writeFile(gates.proven, '');

  const { results } = await answered(5);
  const { code, output } = await ended;
  assert.equal(code, 0, output);
  const texts = results.map(({ text }) => plainly(text));
  assert.match(texts[0] ?? '', /On branch main\n[^]*draft\.txt/);
  assert.ok(texts[1]?.includes(denial), texts[1]);
  assert.match(texts[2] ?? '', /[0-9a-f]{7,} first$/m);
  assert.match(texts[3] ?? '', /\?\? draft\.txt/);
  assert.match(texts[4] ?? '', /\* main/);
  const later = (await model.requests()).filter((request) => request.results.length >= 3);
  assert.equal(
    later.some((request) => offered(client, request.tools).includes(added)),
    client.listChanged,
    client.listChanged ? 'the new tool is never offered' : 'it takes up a changed list after all: say so',
  );
}

/** The gateway's tools as the client offers them, by the gateway's own names, sorted. */
function offered(client: Client, tools: readonly string[]): string[] {
  return [...listed, added].filter((name) => tools.includes(client.tool(name))).sort();
}

/** Some clients show their model the result as JSON. */
function plainly(text: string): string {
  return text.replaceAll('\\n', '\n').replaceAll('\\"', '"').replaceAll('\\t', '\t');
}

function sessionDir(where: Place, session: string): string {
  return path.join(where.env['XDG_RUNTIME_DIR'] ?? '', 'wraptool', session);
}

type Gateway = { readonly pid: number; readonly token: string; gone(): Promise<unknown> };

async function gatewayOf(where: Place, session: string): Promise<Gateway> {
  const file = path.join(sessionDir(where, session), 'session.json');
  const { gateway } = JSON.parse(await readFile(file, 'utf8')) as { gateway: { pid: number } };
  const ref = await processRef(gateway.pid);
  assert.ok(ref);
  const environment = (await readFile(`/proc/${gateway.pid}/environ`, 'utf8')).split('\0');
  const token = environment.find((line) => line.startsWith('WRAPTOOL_TOKEN='))?.slice(15) ?? '';
  assert.match(token, /^[\w-]{43}$/);
  return {
    pid: gateway.pid,
    token,
    gone: () => until('the gateway is gone', async () => !(await isAlive(ref))),
  };
}

/** The token is in no file, on no command line, in no label. */
async function nowhere(where: Place, token: string, runtime: string, session: string): Promise<void> {
  const found = spawnSync('grep', ['-rlF', '--', token, where.dir], { encoding: 'utf8' });
  assert.equal(found.stdout, '', 'the token lies in a file');
  const processes = execFileSync('ps', ['-eww', '-o', 'args'], { encoding: 'utf8' });
  assert.ok(!processes.includes(token), 'the token is on a command line');
  if (runtime !== 'devcontainer') return;
  const format = '{{json .Config.Labels}}';
  const labels = execFileSync('docker', ['inspect', '--format', format, `wraptool-${session}`], {
    encoding: 'utf8',
  });
  assert.ok(!labels.includes(token), 'the token is in a label');
}

async function reloaded(where: Place): Promise<boolean> {
  for await (const { record } of readLog(path.join(where.home, '.local/state/wraptool/log')))
    if (record.event === 'reload' && record.result === 'swapped') return true;
  return false;
}
