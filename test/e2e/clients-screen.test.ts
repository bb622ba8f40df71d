/** The first start of each real client on a terminal: it waits for a prompt, and nothing stands before it. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { homeName, ready } from './clients/session.ts';
import { chosen, type Client } from './clients/table.ts';
import { patience, startModel } from './model-inside.ts';
import { main } from '../support/main.ts';

for (const client of chosen())
  void test(
    `${client.name} shows no dialog at its first start, and asks for no permission for the gateway's tools`,
    needs('root', 'npm-registry', 'tmux', 'bubblewrap'),
    (t) => firstStart(t, client),
  );

async function firstStart(t: TestContext, client: Client): Promise<void> {
  const where = await ready(t, client);
  const env = Object.entries(where.env).map(([key, value]) => `${key}=${value}`);
  const up = ['up', client.name, '--runtime', 'bubblewrap', '--name', 'tui', '--home', homeName];
  const terminal = new Terminal({ columns: 110, rows: 40 }, [
    'env',
    '-i',
    ...env,
    'sh',
    '-c',
    'cd "$1"; shift; "$@"; echo "ended with $?"; exec sh',
    'sh',
    where.workspace,
    process.execPath,
    main,
    ...up,
    '--',
    ...client.args,
  ]);
  t.after(() => terminal.close());
  const model = await startModel(t, where, 'tui', [
    { tool: `^${client.tool('git_status').replaceAll('.', '\\.')}$`, input: {} },
    { text: 'all is done' },
  ]);
  await terminal.shows(client.screen, patience);
  // Some take a prompt before they have their tools, and are asked again.
  for (let asked = 1; ; asked += 1) {
    // A dialog would take these keys for its own.
    const prompt = `what is new here ${asked}`;
    terminal.keys('-l', prompt);
    await terminal.shows(new RegExp(prompt), patience);
    terminal.keys('Enter');
    await terminal.shows(new RegExp(`all is done|(mock model: [^]*){${asked}}`), patience);
    if (/all is done/.test(terminal.text())) break;
    assert.ok(asked < 10, terminal.text());
  }
  const [result] = (await model.requests()).flatMap(({ results }) => results);
  assert.match(result?.text ?? '', /On branch main/);
}
