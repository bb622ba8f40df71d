/** Each thing that wraptool needs of a machine: what was found, and how to mend it. */
import { execFile } from 'node:child_process';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { assertOperatorsOwn } from '../config/location.ts';
import { loadConfig, parseConfig } from '../config/load.ts';
import type { Config } from '../config/types.ts';
import { findProgram } from '../confine/program.ts';
import { WraptoolError } from '../errors.ts';
import { cacheDir, homeDir, sessionsDir, stateDir } from '../paths.ts';
import { loadCredentials } from '../supervise/credentials.ts';
import { createRuntime } from './runtime/create.ts';
import { runtimeNames, type RuntimeName } from './runtime/runtime.ts';
import { resolveWorkspace } from './workspace.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Requirement = {
  readonly name: string;
  /** missing: nothing works without it. warning: something does not. */
  readonly status: 'ok' | 'warning' | 'missing';
  /** What it is for. */
  readonly needed_for: string;
  readonly found: string;
  /** Null where all is well. */
  readonly mend: string | null;
};

type About = { readonly name: string; readonly needed_for: string };

/** Looks at everything; nothing is made. `cwd`: where it is asked, which may be an agent's workspace. */
export async function examine(
  env: Env,
  options: { config?: string | undefined; cwd: string },
): Promise<Requirement[]> {
  const config = await configuration(env, options.config);
  const { up } = config.config;
  const workspace = await workspaceAt(env, options.cwd);
  const [folders, runtimes, others] = await Promise.all([
    ownFolders(env),
    Promise.all(runtimeNames.map((name) => runtime(name, up.base_image, workspace))),
    Promise.all([
      network(up.network),
      program({ name: 'git', needed_for: 'host git, and git in bubblewrap' }, 'git', '--version'),
      program(
        { name: 'script', needed_for: 'a terminal for "wraptool exec" in bubblewrap' },
        'bsdutils, or util-linux',
        '--version',
      ),
      peers(),
    ]),
  ]);
  return [node(), system(), config.requirement, folders, ...runtimes, anyOf(runtimes), ...others];
}

/** Whether something that nothing works without is missing. */
export function isIll(found: readonly Requirement[]): boolean {
  return found.some(({ status }) => status === 'missing');
}

function node(): Requirement {
  const about = { name: 'node', needed_for: 'everything' };
  return fine(about, `Node.js ${process.versions.node} at ${process.execPath}`);
}

function system(): Requirement {
  const about = { name: 'system', needed_for: 'runtimes, and host tools that run confined' };
  const found = `${process.platform} ${release()}`;
  return process.platform === 'linux' ? fine(about, found) : lacking(about, found, 'use a Linux machine');
}

async function configuration(
  env: Env,
  path: string | undefined,
): Promise<{ requirement: Requirement; config: Config }> {
  const about = { name: 'config', needed_for: 'up and serve' };
  try {
    const snapshot = await loadConfig({ path, env });
    return { requirement: fine(about, snapshot.file), config: snapshot.config };
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    const mend = error.code === 'config_missing' ? 'wraptool init' : (error.hint ?? 'wraptool config check');
    // What is looked for below is what an empty one would ask for.
    const file = '/dev/null';
    const { config } = parseConfig(Buffer.from('version: 1\n'), { file, real: file, env });
    return { requirement: lacking(about, error.message, mend), config };
  }
}

async function ownFolders(env: Env): Promise<Requirement> {
  const about = { name: 'folders', needed_for: 'sessions, logins and installations' };
  const places = [sessionsDir(env), stateDir(env), cacheDir(env)];
  try {
    for (const place of places) await assertOperatorsOwn(place, 'state');
    return fine(about, places.join(', '));
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    return lacking(about, error.message, error.hint ?? 'chmod go-w');
  }
}

/** What a session that is started here would work in; undefined where none could. */
async function workspaceAt(env: Env, cwd: string): Promise<string | undefined> {
  try {
    const home = homeDir(env);
    return (await resolveWorkspace({ flag: undefined, cwd, home, stateDirs: [] })).path;
  } catch (error) {
    if (error instanceof WraptoolError && error.code === 'workspace_refused') return undefined;
    throw error;
  }
}

async function runtime(
  name: RuntimeName,
  baseImage: string,
  workspace: string | undefined,
): Promise<Requirement> {
  const about = { name, needed_for: `--runtime ${name}` };
  const found = await createRuntime(name).available({ baseImage, workspace });
  return found.ok ? fine(about, found.version) : warned(about, found.reason, found.hint);
}

function anyOf(runtimes: readonly Requirement[]): Requirement {
  const about = { name: 'a runtime', needed_for: 'up' };
  const working = runtimes.filter(({ status }) => status === 'ok').map(({ name }) => name);
  return working.length > 0
    ? fine(about, working.join(', '))
    : lacking(about, 'none works', 'mend one of them: bubblewrap is the one that needs least');
}

/** As root pasta may not enter the namespace; as a user slirp4netns can't sandbox itself. */
async function network(wanted: Config['up']['network']): Promise<Requirement> {
  const about = { name: 'network', needed_for: 'up.network: private in bubblewrap, installing harnesses' };
  const [name, pack] =
    process.getuid?.() === 0 ? (['slirp4netns', 'slirp4netns'] as const) : (['pasta', 'passt'] as const);
  const there = await program({ ...about, name: 'network' }, pack, '--version', name);
  return wanted === 'private' || there.status === 'ok'
    ? there
    : { ...there, found: `${there.found} (up.network is ${wanted})` };
}

async function program(
  about: About,
  pack: string,
  versionFlag: string,
  name = about.name,
): Promise<Requirement> {
  const file = findProgram(name);
  if (file === null)
    return warned(about, `there is no "${name}"`, `install it (Debian: apt-get install ${pack})`);
  try {
    const { stdout } = await promisify(execFile)(file, [versionFlag], { env: {}, timeout: 5000 });
    return fine(about, `${file}: ${stdout.split('\n')[0] ?? ''}`);
  } catch (error) {
    return warned(
      about,
      `${file} does not run: ${(error as Error).message.split('\n')[0] ?? ''}`,
      'install it anew',
    );
  }
}

async function peers(): Promise<Requirement> {
  const about = { name: 'koffi', needed_for: 'the folder of clients on the gateway’s socket' };
  const loaded = await loadCredentials();
  return typeof loaded === 'string'
    ? warned(about, loaded, 'install the optional package koffi, or let clients send ?cwd=')
    : fine(about, 'loaded');
}

function fine(about: About, found: string): Requirement {
  return { ...about, status: 'ok', found, mend: null };
}

function warned(about: About, found: string, mend: string): Requirement {
  return { ...about, status: 'warning', found, mend };
}

function lacking(about: About, found: string, mend: string): Requirement {
  return { ...about, status: 'missing', found, mend };
}
