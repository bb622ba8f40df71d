/** What an operator sees: a hostile request as text, and a terminal that asks. */
import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { describe, test, type TestContext } from 'node:test';
import { openLog } from '../../src/log/append.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { bench, config, deskOf, put, type Bench } from './desk-support.ts';
import { command } from './support.ts';
import { main } from '../support/main.ts';

const hostile = 'line\n\u001B[2J\u202Eevil\u200B \u0007';

const hidden = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

test('nothing that an agent wrote reaches the terminal as it was sent', async (t) => {
  const at = bench(t);
  await put(at, {
    id: 'req_00000001',
    tool: 'git',
    subcommand: ['push'],
    flags: ['--force'],
    args: ['a "quoted" word', 'two words'],
    rationale: hostile,
  });
  await put(at, {
    id: 'req_00000002',
    tool: hostile,
    subcommand: [hostile],
    flags: [],
    args: [hostile],
    rationale: hostile,
  });
  for (const args of [
    ['list'],
    ['list', '--json'],
    ['list', '--all'],
    ['show', 'req_00000001'],
    ['show', 'req_00000001', '--json'],
    ['show', 'req_00000002'],
    ['approve', 'req_00000002', '--yes'],
    ['deny', 'req_00000002', '--reason', 'no'],
  ]) {
    const { stdout, stderr } = await command(at, ['requests', ...args]);
    assert.doesNotMatch(stdout + stderr, hidden, args.join(' '));
  }
  const { stdout } = await command(at, ['requests', 'show', 'req_00000001']);
  assert.match(stdout, /\["git", "push", "--force", "a \\"quoted\\" word", "two words"\]/);
  assert.match(stdout, /why +line\\n\\u\{1b\}\[2J\\u\{202e\}evil\\u\{200b\} \\u\{7\}/);
  assert.match(stdout, /\/usr\/bin\/git/);
});

test('what is drawn as nothing, or as something else, is written out', async (t) => {
  const at = bench(t);
  const argv = [
    'push',
    'main\u3164',
    'a\u00a0b',
    'x\ufe0f',
    'g\u0456thub.com',
    '\uff0dx',
    '\\u{202e}',
    'caf\u00e9',
  ];
  await put(at, { id: 'req_00000001', argv, rationale: 'blank\u2800' });
  const { stdout } = await command(at, ['requests', 'show', 'req_00000001']);
  assert.match(
    stdout,
    /call +\["git", "push", "main\\u\{3164\}", "a\\u\{a0\}b", "x\\u\{fe0f\}", "gіthub.com", "－x", "\\\\u\{202e\}", "café"\]/,
  );
  assert.match(stdout, /why +blank\\u\{2800\}/);
  assert.match(stdout, /beware +a word of it is no plain text: "g\\u\{456\}thub\.com"/);
  assert.match(stdout, /beware +a word of it is no plain text: "\\u\{ff0d\}x"/);
  assert.doesNotMatch(stdout, /beware.*caf/);
});

test('the view says what the rule would newly allow of the calls that were refused', async (t) => {
  const at = bench(t);
  const log = await openLog(at.log);
  for (const argv of [
    ['push', '--force', 'origin', 'main'],
    ['push', '--force', 'evil', 'main'],
    ['push', '--tags'],
  ])
    log.append({
      event: 'decided',
      call: 'a:1',
      decision: 'deny',
      reason: 'flag_not_allowed',
      detail: null,
      tool: 'git',
      subcommand: ['push'],
      argv,
      cwd: null,
      rule: null,
      config: 'x',
    });
  log.close();
  await put(at, { id: 'req_00000001' });
  const shown = JSON.parse((await command(at, ['requests', 'show', 'req_', '--json'])).stdout) as Record<
    string,
    unknown
  >;
  assert.deepEqual(
    [shown['newly_allowed'], shown['past_refused']],
    [[['git', 'push', '--force', 'origin', 'main']], 3],
  );
});

test('--dry-run prints the diff and changes nothing', async (t) => {
  const at = bench(t);
  await put(at, { id: 'req_00000001' });
  const done = await command(at, ['requests', 'approve', 'req_00000001', '--apply', '--dry-run']);
  assert.equal(done.code, 0);
  assert.match(done.stdout, /^\+        flags: \[--set-upstream, --force\]$/m);
  assert.match(done.stderr, /tighten them by hand/);
  assert.equal(fs.readFileSync(at.config, 'utf8'), config(at.dir));
  assert.equal((await deskOf(at).request('req')).status, 'pending');
});

const wrong: readonly [sentence: string, args: string[], code: number, error: string][] = [
  ['an unknown request', ['requests', 'show', 'req_ffffffff'], 2, 'request_unknown'],
  ['a prefix of two', ['requests', 'show', 'req_0'], 2, 'usage'],
  ['two scopes', ['requests', 'approve', 'req_00000001', '--once', '--apply'], 2, 'usage'],
  ['no number of uses', ['requests', 'approve', 'req_00000001', '--uses', '0'], 2, 'usage'],
  ['a duration that is none', ['requests', 'approve', 'req_00000001', '--for', 'ever'], 2, 'usage'],
  ['a denial without a reason', ['requests', 'deny', 'req_00000001', '--reason', ' '], 2, 'usage'],
  ['an unknown grant', ['grants', 'revoke', 'grt_00000000'], 2, 'request_unknown'],
  ['an unknown tool', ['requests', 'approve', 'req_00000002', '--apply'], 3, 'unknown_tool'],
  [
    'a digest of something else',
    ['requests', 'approve', 'req_00000001', '--digest', 'x'],
    3,
    'request_stale',
  ],
];

void describe('is refused, with a code and a hint:', () => {
  for (const [sentence, args, code, error] of wrong)
    test(sentence, async (t) => {
      const at = bench(t);
      await put(at, { id: 'req_00000001' }, { id: 'req_00000002', tool: 'fj' });
      const done = await command(at, [...args, '--json']);
      const said = JSON.parse(done.stdout) as { error: { code: string; hint: string | null } };
      assert.deepEqual([done.code, said.error.code], [code, error], done.stdout);
    });
});

function terminal(t: TestContext, at: Bench, ...args: string[]): Terminal {
  const screen = new Terminal({ columns: 160, rows: 50 }, [
    '/usr/bin/env',
    '-i',
    'PATH=/usr/bin:/bin',
    'TERM=xterm-256color',
    `HOME=${at.dir}`,
    `WRAPTOOL_CONFIG=${at.config}`,
    '/bin/sh',
    '-c',
    `"$0" "$@"; echo "ended with $?"; sleep 600`,
    process.execPath,
    main,
    'requests',
    ...args,
  ]);
  t.after(() => screen.close());
  return screen;
}

void describe('on a terminal', needs('tmux'), () => {
  test('approve shows what would change and asks for the scope', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const screen = terminal(t, at, 'approve', 'req_00000001');
    await screen.shows(/\+ +flags: \[--set-upstream, --force\][^]*\[o\]nce/);
    screen.keys('a', 'Enter');
    await screen.shows(/req_00000001 approved[^]*ended with 0/);
    assert.match(fs.readFileSync(at.config, 'utf8'), /--force/);
  });

  test('no answer is no', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const screen = terminal(t, at, 'approve', 'req_00000001', '--apply');
    await screen.shows(/approve \(apply\)\? \[y\/N\]/);
    screen.keys('C-d');
    await screen.shows(/ended with 2/);
    assert.equal((await deskOf(at).request('req')).status, 'pending');
  });

  test('what changed while it was asked is request_stale, and shown again', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001' });
    const screen = terminal(t, at, 'approve', 'req_00000001', '--apply');
    await screen.shows(/approve \(apply\)\? \[y\/N\]/);
    fs.writeFileSync(at.config, config(at.dir).replace('[--set-upstream]', '[--set-upstream, --tags]'));
    screen.keys('y', 'Enter');
    await screen.shows(
      /request_stale[^]*\[--set-upstream, --tags, --force\][^]*approve \(apply\)\? \[y\/N\]/,
    );
    assert.equal((await deskOf(at).request('req')).status, 'pending');
    screen.keys('y', 'Enter');
    await screen.shows(/ended with 0/);
    assert.match(fs.readFileSync(at.config, 'utf8'), /--tags, --force/);
  });

  test('follow shows what comes', async (t) => {
    const at = bench(t);
    await put(at, { id: 'req_00000001', rationale: 'first' });
    const screen = terminal(t, at, 'follow');
    await screen.shows(/why +first/);
    await put(at, { id: 'req_00000002', rationale: 'second' });
    await screen.shows(/req_00000002[^]*why +second/);
  });
});
