/** `wraptool policy`, `config` and `init` as an operator meets them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { needs } from '../support/real.ts';
import { main } from '../support/main.ts';

let dir = '';
let file = '';
const policy = `version: 1
tools:
  git:
    binary: /nonexistent/git
    allow:
      - subcommand: push
        flags: [--set-upstream]
        flag_constraints: { --set-upstream: { short: -u, value: none } }
        args: [{ enum: [origin] }, { enum: [main] }]
        match: [push -u origin main]
    deny:
      - { subcommand: push, flags: [--mirror] }
`;

before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'wraptool-test-'));
  file = path.join(dir, 'config.yaml');
  await writeFile(file, policy, { mode: 0o600 });
});
after(() => rm(dir, { recursive: true }));

function wraptool(...argv: string[]): { code: number | null; out: string; err: string } {
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, NO_COLOR: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...argv], {
    cwd: dir,
    encoding: 'utf8',
    env,
  });
  return { code: status, out: stdout, err: stderr };
}

void test('an allowed call: exit 0, the rule, the canonical argv', () => {
  const { code, out } = wraptool(
    'policy',
    'test',
    '--config',
    file,
    '--',
    'git',
    'push',
    '-u',
    'origin',
    'main',
  );
  assert.deepEqual(
    [code, out],
    [0, `ALLOWED\nrule: ${file}:6 (allow)\nruns: ["git", "push", "--set-upstream", "origin", "main"]\n`],
  );
});

void test('a refused call: exit 3, the denial, the rule', () => {
  const { code, out } = wraptool('policy', 'test', '--config', file, '--', 'git', 'push', '--mir');
  assert.deepEqual(
    [code, out],
    [
      3,
      `DENIED: 'git push --mir' is not permitted.

Policy: a deny rule for 'git push' refuses '--mir'.

To request this capability, call the 'wraptool_request_capability' tool.

reason: denied_by_rule
rule: ${file}:12 (deny)
`,
    ],
  );
});

void test('--json', () => {
  const allowed = wraptool(
    'policy',
    'test',
    '--config',
    file,
    '--json',
    '--',
    'git',
    'push',
    '-u',
    'origin',
    'main',
  );
  assert.deepEqual(JSON.parse(allowed.out), {
    decision: 'allow',
    reason_code: null,
    detail: null,
    tool: 'git',
    subcommand: 'push',
    argv: ['push', '--set-upstream', 'origin', 'main'],
    rule: { file, line: 6, effect: 'allow' },
  });
  const denied = wraptool('policy', 'test', '--config', file, '--json', '--', 'svn', '--json');
  assert.deepEqual(
    [denied.code, JSON.parse(denied.out)],
    [
      3,
      {
        decision: 'deny',
        reason_code: 'tool_not_allowed',
        detail: "tool 'svn' is not in the allowlist",
        tool: 'svn',
        subcommand: '',
        argv: ['--json'],
        rule: null,
      },
    ],
  );
});

void test('the cwd stage is judged where a cwd is given', () => {
  const argv = ['--', 'git', 'push', 'origin', 'main'];
  const judged = (cwd: string) =>
    wraptool('policy', 'test', '--config', file, '--cwd', cwd, '--json', ...argv);
  assert.equal(judged(dir).code, 0);
  assert.match(judged(path.join(dir, 'gone')).out, /"cwd_not_found"/);
  assert.match(judged('').out, /"cwd_invalid"/);
});

void test('usage and config errors are exit 2', async () => {
  assert.equal(wraptool('policy', 'test', '--config', file).code, 2);
  assert.equal(wraptool('policy', 'test', '--config', path.join(dir, 'none.yaml'), '--', 'git').code, 2);
  const broken = path.join(dir, 'broken.yaml');
  await writeFile(broken, policy.replace('flags:', 'flgas:').replace('main]', 'main, -4]'), { mode: 0o600 });
  const { code, out } = wraptool('config', 'check', '--config', broken, '--json');
  const { error } = JSON.parse(out) as { error: { code: string; problems: string[] } };
  assert.deepEqual(
    [code, error.code, error.problems],
    [
      2,
      'config_invalid',
      [
        `${broken}:7:9 tools.git.allow[0].flgas: unknown key (did you mean "flags"?)`,
        `${broken}:9:51 tools.git.allow[0].args[1].enum[1]: expected a string, found the number -4: quote it`,
      ],
    ],
  );
});

void test('--batch prints mismatches and the count', async () => {
  const batch = path.join(dir, 'cases.jsonl');
  const lines = [
    { id: 'A', argv: ['git', 'push', 'origin', 'main'], expected: 'allow' },
    { id: 'B', argv: ['git', 'pull'], expected: 'deny', reason: 'subcommand_not_allowed' },
    {
      id: 'C',
      argv: ['git', 'pull'],
      expected: 'deny',
      reason: 'arg_missing',
      accept: ['subcommand_not_allowed'],
    },
    { id: 'D', argv: ['git', 'pull'], expected: 'deny', reason: 'arg_missing' },
    { id: 'E', argv: ['git', 'pull'], expected: 'allow' },
    { id: 'F', argv: 'git pull', expected: 'deny', reason: 'request_malformed' },
    { id: 'G', argv: ['git', 'pull'], expected: 'deny' },
    {
      id: 'H',
      argv: ['git', 'push', 'origin', 'main'],
      cwd: [dir],
      expected: 'deny',
      reason: 'request_malformed',
    },
    {
      id: 'I',
      argv: ['git', 'push', 'origin', 'main'],
      url_query: '',
      expected: 'deny',
      reason: 'cwd_invalid',
    },
  ];
  await writeFile(batch, lines.map((line) => JSON.stringify(line)).join('\n'));
  const { code, out } = wraptool('policy', 'test', '--config', file, '--batch', batch);
  assert.deepEqual(
    [code, out],
    [
      1,
      `D: expected deny arg_missing, got deny subcommand_not_allowed\nE: expected allow, got deny subcommand_not_allowed\n7 passed, 2 failed\n`,
    ],
  );
  await writeFile(batch, '{"id":"A","argv":[],"expected":"maybe"}\n');
  assert.equal(wraptool('policy', 'test', '--config', file, '--batch', batch).code, 2);
});

void test('policy diff says which examples change', async () => {
  const newer = path.join(dir, 'newer.yaml');
  await writeFile(
    newer,
    policy
      .replace('flags: [--mirror]', 'args_pattern: main')
      .replace('        match: [push -u origin main]\n', ''),
    { mode: 0o600 },
  );
  const { code, out } = wraptool('policy', 'diff', file, newer, '--json');
  assert.deepEqual(
    [code, JSON.parse(out)],
    [
      0,
      {
        changed: [
          {
            call: ['git', 'push', '-u', 'origin', 'main'],
            source: 'example',
            old: 'allow',
            new: 'denied_by_rule',
          },
        ],
        same: 0,
      },
    ],
  );
});

void test('a config that others can write is refused, and testing a policy does not mind', async () => {
  const open = path.join(dir, 'open.yaml');
  await writeFile(open, policy);
  await chmod(open, 0o666);
  const { code, err } = wraptool('config', 'check', '--config', open);
  assert.deepEqual(
    [code, err.includes(`everybody can write "${open}"`), err.includes(`chmod go-w "${open}"`)],
    [2, true, true],
  );
  assert.equal(wraptool('policy', 'test', '--config', open, '--', 'git', 'push', 'origin', 'main').code, 0);
});

void test('init writes a starter of mode 0600 that checks, once', needs('git'), async () => {
  const config = path.join(dir, '.config', 'wraptool', 'config.yaml');
  assert.deepEqual([wraptool('init').code, (await stat(config)).mode & 0o777], [0, 0o600]);
  assert.equal(wraptool('config', 'check').code, 0);
  assert.equal(wraptool('policy', 'test', '--', 'git', 'status', '-sb').code, 0);
  assert.equal(wraptool('policy', 'test', '--', 'git', 'push', 'origin', 'main').code, 3);
  const before = await readFile(config, 'utf8');
  assert.equal(wraptool('init').code, 2);
  assert.equal(await readFile(config, 'utf8'), before);
});

void test('config explain and schema', () => {
  assert.equal(wraptool('config', 'explain', 'tools.git.allow[0].flags').code, 0);
  assert.match(wraptool('config', 'explain', 'tools.git.alow').err, /did you mean "tools\.NAME\.allow"/);
  const schema = JSON.parse(wraptool('config', 'schema').out) as { properties: object };
  assert.deepEqual(Object.keys(schema.properties), [
    'version',
    'mcp',
    'admin',
    'requests',
    'defaults',
    'scrub',
    'tools',
    'mcp_servers',
    'up',
    'supervisor',
  ]);
});
