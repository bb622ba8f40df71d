/** A log with a pending request, a config, and a desk to decide at. No gateway. */
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Disk } from '../../src/edit/lock.ts';
import { openLog } from '../../src/log/append.ts';
import { Desk, type ScopeChoice } from '../../src/requests/desk.ts';

export const config = (dir: string) => `version: 1   # ours
requests: { log: ${dir}/log }
tools:
  git:
    binary: /usr/bin/git
    allow:
      - subcommand: push   # keep
        flags: [--set-upstream]
        flag_constraints: { --set-upstream: { short: -u, value: none } }
        args: [{ enum: [origin] }, { pattern: '[a-z]+' }]
      - { subcommand: status, args: [] }
    deny:
      - { subcommand: push, flags: [--mirror], args_pattern: '\\+.*' }
`;

export type Bench = {
  readonly dir: string;
  readonly log: string;
  readonly config: string;
  readonly env: Record<string, string>;
};

export function bench(t: { after(fn: () => void): void }): Bench {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'wraptool-desk-')));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'config.yaml');
  fs.writeFileSync(file, config(dir), { mode: 0o640 });
  return { dir, log: path.join(dir, 'log'), config: file, env: { HOME: dir } };
}

export type Wish = {
  readonly id: string;
  readonly tool?: string;
  readonly subcommand?: readonly string[];
  readonly flags?: readonly string[];
  readonly args?: readonly string[] | null;
  readonly argv?: readonly string[] | null;
  readonly rationale?: string;
};

export async function put(at: Bench, ...wishes: readonly Wish[]): Promise<void> {
  const log = await openLog(at.log);
  for (const wish of wishes)
    log.append({
      event: 'requested',
      id: wish.id,
      digest: wish.id,
      tool: wish.tool ?? 'git',
      subcommand: [...(wish.subcommand ?? ['push'])],
      flags: [...(wish.flags ?? ['--force'])],
      args: wish.args ? [...wish.args] : null,
      call: wish.argv ? 'a:1' : null,
      rationale: wish.rationale ?? 'why',
      enables: null,
      client: 'test/1',
      session_id: 'serve-0000000000000000',
      config_file: at.config,
      argv: wish.argv ? [...wish.argv] : null,
      cwd: '/src',
    });
  log.close();
}

export const deskOf = (at: Bench, disk?: Disk): Desk =>
  new Desk({ dir: at.log, config: at.config, env: at.env, actor: 'op', ...(disk ? { disk } : {}) });

export const apply = (choice: ScopeChoice = { scope: 'apply' }) => ({ choice, wide: false, shown: null });
