/** PATH names folders of the workspace, as `npm run` and direnv make it: no program from there runs on the host. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/real.ts';
import { Terminal } from '../support/tmux.ts';
import type { Place } from './place.ts';
import { allRuntimes, live, readyPlace } from './session.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Of what runs on the host, the names that could be looked for. */
const programs =
  `bash bwrap cat cp docker docker-buildx docker-compose docker-credential-desktop docker-credential-pass docker-credential-secretservice
  env flock getent git guix id ip kill ln mount nft node npm notify-send npx nsenter pasta perl pkexec prlimit ps python3 readlink rm script
  setpriv setsid sh slirp4netns ssh ss stty sudo systemctl systemd-run tar tini tmux true tty umount uname unshare which xdg-open`.split(
    /\s+/,
  );

/** Each says that it ran, in a file of the host. */
async function traps(where: Place): Promise<() => Promise<string>> {
  const folder = path.join(where.workspace, 'node_modules', '.bin');
  const log = path.join(where.dir, 'ran');
  await mkdir(folder, { recursive: true });
  for (const name of programs)
    await writeFile(path.join(folder, name), `#!/bin/sh\necho "${name} $*" >> '${log}'\nexit 1\n`, {
      mode: 0o755,
    });
  await symlink(folder, path.join(where.dir, 'linked'));
  where.env['PATH'] = [
    folder,
    path.join(where.dir, 'linked'),
    'node_modules/.bin',
    '.',
    where.env['PATH'],
  ].join(':');
  return async () => (existsSync(log) ? readFile(log, 'utf8') : '');
}

for (const { name: runtime, part } of allRuntimes)
  void test(`${runtime}: a session and the commands on it run none`, needs(part), async (t) => {
    const where = await readyPlace(t, runtime);
    const ran = await traps(where);
    const { end } = await live(t, runtime, { where });
    for (const args of [
      ['exec', 'life', '--', 'sh', '-c', ':'],
      ['ps'],
      ['inspect', 'life'],
      ['doctor'],
      ['prune', '--dry-run'],
      ['up', 'shell', '--runtime', runtime, '--dry-run'],
      ['down', 'life'],
    ])
      await where.wraptool(args);
    await end();
    assert.equal(await ran(), '');
  });

void test('auto takes none for a runtime’s', async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  const ran = await traps(where);
  await where.wraptool(['up', 'shell', '--dry-run']);
  assert.equal(await ran(), '');
});

void test('the care of the terminal runs none', needs('bubblewrap', 'tmux'), async (t) => {
  const where = await readyPlace(t, 'bubblewrap');
  const ran = await traps(where);
  const words = Object.entries(where.env).map(([name, value]) => `${name}=${value}`);
  const script = 'cd "$1"; shift; "$@"; echo "ended with $?"; exec /bin/cat';
  const up = [process.execPath, main, 'up', 'shell', '--runtime', 'bubblewrap', '--', '-c', 'exit 7'];
  const [file, ...args] = [
    '/usr/bin/env',
    '-i',
    ...words,
    '/bin/sh',
    '-c',
    script,
    'sh',
    where.workspace,
    ...up,
  ];
  const terminal = new Terminal({ columns: 100, rows: 40 }, [file, ...args]);
  t.after(() => terminal.close());
  await terminal.shows(/ended with 7/, 60_000);
  assert.equal(await ran(), '');
});

void test('docker of the workspace alone is none', needs('docker'), async (t) => {
  const where = await readyPlace(t, 'devcontainer');
  const ran = await traps(where);
  const real = execFileSync('sh', ['-c', 'command -v docker'], { encoding: 'utf8' }).trim();
  where.env['PATH'] = (where.env['PATH'] ?? '')
    .split(':')
    .filter((folder) => !existsSync(path.join(folder, path.basename(real))) || folder.includes(where.dir))
    .join(':');
  const { code, stderr } = await where.wraptool([
    'up',
    'shell',
    '--runtime',
    'devcontainer',
    '--',
    '-c',
    ':',
  ]);
  assert.equal(code, 125, stderr);
  assert.match(stderr, /there is no "docker" on PATH/);
  assert.equal(await ran(), '');
});
