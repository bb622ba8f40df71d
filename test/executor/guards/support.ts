import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { resolveBinary } from '../../../src/executor/binary.ts';
import { childEnvironment } from '../../../src/executor/environment.ts';
import { gitGuard } from '../../../src/executor/guards/git.ts';
import { createExecutor } from '../../../src/executor/run.ts';
import { startSpawner } from '../../../src/executor/spawner.ts';
import type { Executor, FrozenCall, GuardOptions, Outcome } from '../../../src/executor/types.ts';
import { createScrubber } from '../../../src/scrub/scrubber.ts';
import { openDir } from '../support.ts';

const run = promisify(execFile);

/** Environment of the git that prepares and inspects repositories in tests: no config but theirs. */
export const plainEnv = {
  PATH: process.env['PATH']!,
  HOME: '/dev/null/home',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@x',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@x',
};

export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', ['-c', 'protocol.file.allow=always', ...args], { cwd, env: plainEnv });
  return stdout.trim();
}

export type Place = {
  /** Everything of the test, removed at its end. */
  readonly root: string;
  readonly workspace: string;
  /** The operator's. */
  readonly home: string;
  readonly state: string;
  readonly outside: string;
};

export async function makePlace(t: TestContext | null): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'wraptool-guard-')));
  t?.after(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  const place = {
    root,
    workspace: join(root, 'ws'),
    home: join(root, 'home'),
    state: join(root, 'state'),
    outside: join(root, 'outside'),
  };
  for (const folder of [place.workspace, place.home, place.outside]) await mkdir(folder);
  await writeFile(
    join(place.home, '.gitconfig'),
    '[user]\n\tname = Olga Operator\n\temail = olga@example.org\n',
  );
  return place;
}

export type CallOptions = {
  /** The place's, where it is not given. */
  readonly workspace?: string;
  readonly cwd?: string;
  readonly remotes?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly confine?: GuardOptions['confine'];
  readonly shared?: GuardOptions['shared'];
  readonly binary?: string;
};

export type Guarded = (argv: readonly string[], options?: CallOptions) => Promise<Outcome>;

export function newExecutor(): Executor {
  return createExecutor({
    spawner: startSpawner(),
    scrub: createScrubber({ literals: [], patterns: [] }),
    guards: { git: gitGuard },
  });
}

/** Calls git through the real executor and the guard. */
export function guarded(executor: Executor, place: Place, base: CallOptions = {}): Guarded {
  return async (argv, more = {}) => {
    const options = { ...base, ...more };
    const cwd = await openDir(options.cwd ?? place.workspace);
    const call: FrozenCall = {
      tool: 'git',
      subcommand: [argv[0]!],
      binary: await resolveBinary(options.binary ?? '/usr/bin/git', []),
      argv,
      cwd,
      env: childEnvironment({ home: place.home, configured: options.env ?? {} }),
      stdin: null,
      timeoutMs: options.timeoutMs ?? 30_000,
      maxOutputBytes: 1024 * 1024,
      maxConcurrent: 8,
      guard: 'git',
      guardOptions: {
        workspace: options.workspace ?? place.workspace,
        ...(options.shared === undefined ? {} : { shared: options.shared }),
        remotes: options.remotes ?? {},
        stateDir: place.state,
        homeFiles: [],
        confine: options.confine ?? 'auto',
      },
    };
    try {
      return await executor.run(call, { signal: new AbortController().signal });
    } finally {
      await cwd.close();
    }
  };
}

/** A bare repository with two commits on main, and a clone of it with one more in the workspace. */
export async function makeClone(
  place: Place,
  ...cloneFlags: string[]
): Promise<{ repo: string; bare: string; url: string }> {
  const bare = join(place.root, 'origin.git');
  const seed = join(place.root, 'seed');
  await git(place.root, 'init', '-q', '--bare', '-b', 'main', bare);
  await git(place.root, 'init', '-q', '-b', 'main', seed);
  for (const name of ['one', 'two']) {
    await writeFile(join(seed, `${name}.txt`), `${name}\n`);
    await git(seed, 'add', '-A');
    await git(seed, 'commit', '-qm', name);
  }
  await git(seed, 'push', '-q', bare, 'main');
  const repo = join(place.workspace, 'app');
  await git(place.root, 'clone', '-q', ...cloneFlags, `file://${bare}`, repo);
  return { repo, bare, url: `file://${bare}` };
}

export async function commitFile(repo: string, name: string, text: string): Promise<string> {
  await writeFile(join(repo, name), text);
  await git(repo, 'add', '-A');
  await git(repo, 'commit', '-qm', name);
  return git(repo, 'rev-parse', 'HEAD');
}
