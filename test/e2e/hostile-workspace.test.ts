/** What a harness can leave in the workspace, and in its HOME, to trouble the end of its session and the next start. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { needs } from '../support/real.ts';
import { leftOf } from './left.ts';
import { readyPlace } from './session.ts';

const deep = `(n=$(printf '%0200d' 0); i=0; while [ $i -lt 40 ]; do mkdir $n && cd -P $n || exit 1; i=$((i+1)); done)`;

const deeds: Readonly<Record<string, string>> = {
  'pipes where files are looked at, names that are no text': `for f in .envrc package.json Makefile .mise.toml; do mkfifo $f; done
    mkdir -p .vscode .husky; mkfifo .vscode/tasks.json .husky/pre-commit; rm .git/config; mkfifo .git/config
    printf x > "$(printf '\\377\\033[2J\\n')"; mkdir "$(printf '.git/refs/\\377')"`,
  'links to devices and to nothing, files without an end, paths too long to name': `ln -s /dev/zero .envrc; ln -s loop loop
    ln -s loop package.json; ln -s /proc/self/fd .vscode; truncate -s 1T Makefile .git/config; ${deep}; cd .git; ${deep}`,
  'no repository any more, closed folders, another HOME than was seeded': `rm -rf .git/refs .git/HEAD; mkdir .vscode
    : > .vscode/tasks.json; chmod 000 .vscode .git/objects
    cd; rm -rf .config .cache; ln -s /etc .config; mkfifo .bashrc; ln -s /dev/zero .gitconfig; ${deep}`,
};

for (const [what, script] of Object.entries(deeds))
  void test(
    `${what}: the session ends with the harness’s code, and another starts`,
    needs('bubblewrap'),
    async (t) => {
      const where = await readyPlace(t, 'bubblewrap');
      const name = `hostile-${process.pid}`;
      const up = (words: string) =>
        where.wraptool(['up', 'shell', '--runtime', 'bubblewrap', '--name', name, '--', '-c', words]);
      try {
        const first = await up(`${script}; exit 7`);
        assert.equal(first.code, 7, first.stderr);
        const second = await up('exit 8');
        assert.equal(second.code, 8, second.stderr);
        const said = first.stderr + second.stderr;
        assert.doesNotMatch(said, /fault of wraptool/);
        assert.ok(!said.includes('\u001b[2J'));
        assert.deepEqual(await leftOf(where, name, false), []);
      } finally {
        // Node's own removal names paths whole.
        spawnSync('rm', ['-rf', where.workspace, where.home]);
      }
    },
  );
