/** Completion by Tab: what can stand at the cursor, and the three shells themselves, in a terminal. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { complete } from '../../src/cli/completion/words.ts';
import { scripts, shells } from '../../src/cli/completion/scripts.ts';
import { commandTable } from '../../src/cli/table.ts';
import { createSession } from '../../src/up/session.ts';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import { main } from '../support/main.ts';

async function words(...typed: string[]): Promise<readonly string[] | 'files'> {
  const found = await complete(typed);
  return found === 'files' ? found : found.map(({ word }) => word);
}

const cases: readonly { typed: readonly string[]; gives: readonly string[] | 'files' }[] = [
  { typed: [''], gives: Object.keys(commandTable) },
  { typed: ['pol'], gives: ['policy'] },
  { typed: ['--v'], gives: ['--version', '--verbose'] },
  { typed: ['--quiet', 'dow'], gives: ['down'] },
  { typed: ['nonsense', ''], gives: [] },
  { typed: ['policy', ''], gives: ['test', 'diff', 'allow'] },
  { typed: ['policy', 'test', '--b'], gives: ['--batch'] },
  { typed: ['policy', 'test', '--batch', ''], gives: 'files' },
  { typed: ['policy', 'test', '--', 'git', ''], gives: 'files' },
  { typed: ['policy', 'diff', ''], gives: 'files' },
  { typed: ['up', 'clau'], gives: ['claude'] },
  { typed: ['up', '--runtime', ''], gives: ['auto', 'guix', 'devcontainer', 'bubblewrap'] },
  { typed: ['up', '--runtime', 'b'], gives: ['bubblewrap'] },
  { typed: ['up', '--runtime', 'guix', 'cod'], gives: ['codex'] },
  { typed: ['up', '--name', ''], gives: [] },
  { typed: ['harness', 'show', 'gem'], gives: ['gemini'] },
  { typed: ['completion', ''], gives: ['bash', 'zsh', 'fish'] },
];

for (const { typed, gives } of cases)
  void test(`after "${typed.join(' ')}"`, async () => assert.deepEqual(await words(...typed), gives));

void test('every option of every command is offered, and none is offered twice', async () => {
  for (const name of Object.keys(commandTable)) {
    const found = await words(name, '-');
    assert.ok(found !== 'files' && found.includes('--help'), name);
    assert.deepEqual(found, [...new Set(found)], name);
  }
});

async function place(t: TestContext) {
  const dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'wraptool-completion-')));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const env = {
    HOME: dir,
    XDG_RUNTIME_DIR: path.join(dir, 'run'),
    PATH: `${dir}/bin:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
  };
  for (const folder of ['bin', 'run']) mkdirSync(path.join(dir, folder), { mode: 0o700 });
  writeFileSync(path.join(dir, 'bin/wraptool'), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, {
    mode: 0o755,
  });
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const about = {
    harness: 'shell',
    runtime: 'bubblewrap',
    workspace: dir,
    roots: [dir],
    owner: own,
    config: dir,
  };
  const rest = { remotes: {}, shared: [], home: dir, log: dir, network: 'none' as const };
  await createSession(env, { given: 'calm-otter', proposed: '' }, { ...about, ...rest });
  for (const shell of shells) writeFileSync(path.join(dir, shell), scripts[shell]);
  return { dir, env };
}

const interactive = {
  bash: (dir: string) => ['bash', '--noprofile', '--rcfile', path.join(dir, 'bash'), '-i'],
  zsh: (dir: string) => ['sh', '-c', `cp ${dir}/zsh ${dir}/.zshrc && exec zsh -d -i`],
  fish: (dir: string) => ['fish', '--no-config', '-C', `source ${dir}/fish`],
} as const;

for (const shell of shells)
  void test(
    `${shell}: Tab completes a command, a session and its options`,
    needs('tmux', shell),
    async (t) => {
      const { dir, env } = await place(t);
      const settings = Object.entries(env).map(([key, value]) => `${key}=${value}`);
      const terminal = new Terminal({ columns: 100, rows: 24 }, [
        'env',
        '-i',
        'TERM=xterm-256color',
        ...settings,
        ...interactive[shell](dir),
      ]);
      t.after(() => terminal.close());
      terminal.keys('-l', 'echo shell-"is"-ready');
      terminal.keys('Enter');
      await terminal.shows(/shell-is-ready/, 30_000);
      terminal.keys('-l', 'wraptool dow');
      terminal.keys('Tab');
      await terminal.shows(/wraptool down /, 30_000);
      terminal.keys('-l', 'calm');
      terminal.keys('Tab');
      await terminal.shows(/wraptool down calm-otter /, 30_000);
      terminal.keys('-l', '--', '--js');
      terminal.keys('Tab');
      await terminal.shows(/wraptool down calm-otter --json/, 30_000);
    },
  );

void test('an unknown shell is an error that names the known ones', () => {
  assert.throws(
    () => execFileSync(process.execPath, [main, 'completion', 'tcsh'], { encoding: 'utf8', stdio: 'pipe' }),
    ({ status, stderr }: { status: number; stderr: string }) =>
      status === 2 && /no completion for "tcsh"/.test(stderr) && /bash, zsh, fish/.test(stderr),
  );
});
