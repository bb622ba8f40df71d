/** Which rules no call used, whatever the config looked like when it was made. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openLog } from '../../src/log/append.ts';
import { main } from '../support/main.ts';

test('log unused lists the allow rules that no call used', async (t) => {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-unused-')));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  const config = path.join(dir, 'config.yaml');
  fs.writeFileSync(
    config,
    `version: 1
requests: { log: ${dir}/log }
tools:
  git:
    binary: /usr/bin/git
    allow:
      - { subcommand: status, flags: [--short] }
      - { subcommand: log }
      - { subcommand: remote add, args: any }
`,
    { mode: 0o600 },
  );
  const log = await openLog(path.join(dir, 'log'));
  const decided = (argv: string[], decision: 'allow' | 'deny', granted: boolean) =>
    log.append({
      event: 'decided',
      call: 'a:1',
      decision,
      reason: decision === 'deny' ? 'flag_not_allowed' : null,
      detail: null,
      tool: 'git',
      subcommand: argv.slice(0, 1),
      argv,
      cwd: '/',
      // Where the rule stood in a config that has changed since.
      rule: granted ? null : { file: config, line: 99, effect: 'allow' },
      config: 'x',
      ...(granted ? { grant: 'grt_00000001' } : {}),
    });
  // Granted first, allowed by the rule since.
  decided(['status', '--short'], 'allow', true);
  decided(['status', '--short'], 'allow', false);
  decided(['log'], 'deny', false);
  decided(['remote', 'add', 'a', 'b'], 'allow', true);
  log.close();
  const done = spawnSync(process.execPath, [main, 'log', 'unused', '--config', config, '--json'], {
    encoding: 'utf8',
    env: { HOME: dir, PATH: '/usr/bin:/bin' },
  });
  assert.deepEqual(JSON.parse(done.stdout), {
    calls: 2,
    rules: [
      { tool: 'git', subcommand: ['log'], file: config, line: 8 },
      { tool: 'git', subcommand: ['remote', 'add'], file: config, line: 9 },
    ],
  });
});
