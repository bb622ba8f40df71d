/** Git through the gateway: the guard on, the denial to the letter. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { needs } from '../support/real.ts';
import { call, connect, textOf, world } from './support.ts';

const rules = `
  git:
    binary: /usr/bin/git
    allow:
      - { subcommand: status, read_only: true, flags: [--short] }
      - subcommand: push
        flags: [--set-upstream]
        flag_constraints: { --set-upstream: { short: -u, value: none } }
        args: [{ enum: [origin] }, { enum: [main] }]
`;

test(
  'git_status runs in the box; a forced push is denied with the pinned text',
  needs('bubblewrap'),
  async (t) => {
    const it = world(t, (config) => config + rules.slice(1));
    const git = (...args: string[]) => execFileSync('git', ['-C', it.src, ...args], { env: it.env });
    git('init', '-q', '-b', 'main');
    fs.writeFileSync(path.join(it.src, 'new file'), '');
    const client = await connect(t, (await it.serve()).ready.url ?? '', it.src);
    const status = await call(client, 'git_status', { flags: { '--short': true } });
    assert.equal(textOf(status), '?? "new file"\n');

    const denied = await call(client, 'wraptool_run', {
      tool: 'git',
      argv: ['push', '--force', 'origin', 'main'],
    });
    assert.equal(
      textOf(denied),
      [
        "DENIED: 'git push --force origin main' is not permitted.",
        '',
        "Policy: flag '--force' is not in the allowlist for 'git push'.",
        "Allowed flags for 'git push': --set-upstream",
        '',
        "To request this capability, call the 'wraptool_request_capability' tool.",
      ].join('\n'),
    );
    const { seq, request, ...facts } = denied.structuredContent ?? {};
    assert.deepEqual(facts, {
      decision: 'deny',
      reason_code: 'flag_not_allowed',
      detail: "flag '--force' is not in the allowlist for 'git push'",
      tool: 'git',
      subcommand: 'push',
      offending: '--force',
      allowed_flags: ['--set-upstream'],
      nearest_allowed: ['push', 'origin', 'main'],
    });
    const asked = await call(client, 'wraptool_request_capability', request as Record<string, unknown>);
    assert.equal(asked.structuredContent?.['status'], 'pending', textOf(asked));
    assert.equal((request as { seq: unknown }).seq, seq);
  },
);
