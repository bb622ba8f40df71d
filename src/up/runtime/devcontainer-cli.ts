/** The Dev Containers CLI as a child process. It sees the session's folder and never the workspace. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire, getCompileCacheDir } from 'node:module';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { WraptoolError } from '../../errors.ts';
import type { Definition } from './devcontainer-definition.ts';
import { eachLine } from './docker-stream.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type UpRequest = {
  readonly sessionId: string;
  /** Folder of ours for this session. */
  readonly folder: string;
  readonly definition: Definition;
  readonly labels: readonly string[];
  readonly socketPath: string;
  readonly dockerPath: string;
};

/** In the environment of the CLI and of all that it starts, the session's id: how what outlives it is found. */
export const makerVariable = 'WRAPTOOL_MAKES';

/** Path of the CLI's program, or null where it is not installed. */
export function findCli(): string | null {
  try {
    return join(
      dirname(createRequire(import.meta.url).resolve('@devcontainers/cli/package.json')),
      'devcontainer.js',
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** argv of `devcontainer up`; no value of the environment is in it. */
export function upCommand(
  cli: string,
  request: Pick<UpRequest, 'folder' | 'labels' | 'dockerPath'>,
): readonly string[] {
  return [
    process.execPath,
    cli,
    'up',
    '--workspace-folder',
    join(request.folder, 'empty'),
    '--override-config',
    join(request.folder, 'devcontainer.json'),
    '--mount-workspace-git-root',
    'false',
    ...request.labels.flatMap((label) => ['--id-label', label]),
    '--docker-path',
    request.dockerPath,
    '--default-user-env-probe',
    'none',
    '--skip-post-create',
    '--no-lockfile',
    '--log-format',
    'json',
  ];
}

/** argv of `devcontainer build` over an approved copy. */
export function buildCommand(
  cli: string,
  request: {
    readonly folder: string;
    readonly config: string;
    readonly image: string;
    readonly dockerPath: string;
  },
): readonly string[] {
  return [
    process.execPath,
    cli,
    'build',
    '--workspace-folder',
    request.folder,
    '--config',
    request.config,
    '--image-name',
    request.image,
    '--docker-path',
    request.dockerPath,
    '--no-lockfile',
    '--log-format',
    'json',
  ];
}

/** Starts the container and gives its id. Errors: runtime_failed, session_exists. */
export async function devcontainerUp(
  cli: string,
  request: UpRequest,
  env: Env,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<string> {
  await mkdir(request.folder, { recursive: true, mode: 0o700 });
  await writeFile(
    join(request.folder, 'devcontainer.json'),
    `${JSON.stringify(request.definition, null, 2)}\n`,
    { mode: 0o600 },
  );
  const { containerId } = await runCli(upCommand(cli, request), request, env, progress, signal);
  if (containerId !== undefined) return containerId;
  throw new WraptoolError('runtime_failed', 'devcontainer up names no container');
}

/** Runs the CLI to its end; its answer. It sees no folder but the request's. Errors: runtime_failed, session_exists. */
export async function runCli(
  command: readonly string[],
  request: Pick<UpRequest, 'folder' | 'sessionId' | 'socketPath'>,
  env: Env,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  const tmp = join(request.folder, 'tmp');
  await prepareFolder(request.folder, tmp);
  signal.throwIfAborted();
  const [file, ...args] = command;
  const child = spawn(file!, args, {
    // A group of its own: the CLI leaves a `docker run` client behind, which goes with the group.
    detached: true,
    cwd: join(request.folder, 'empty'),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: cliEnvironment(env, request, tmp),
  });
  const abort = (): void => killGroup(child);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await answer(child, args[1] ?? '', progress);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    killGroup(child);
    await rm(tmp, { recursive: true, force: true });
  }
}

async function prepareFolder(folder: string, tmp: string): Promise<void> {
  await mkdir(join(folder, 'empty'), { recursive: true });
  const cache = join(tmp, `devcontainercli-${userInfo().username}`);
  await mkdir(cache, { recursive: true });
  // Present and fresh: the CLI then asks nobody on the network about features that are not used.
  await writeFile(
    join(cache, 'control-manifest.json'),
    JSON.stringify({ disallowedFeatures: [], featureAdvisories: [] }),
  );
}

function cliEnvironment(
  env: Env,
  request: Pick<UpRequest, 'sessionId' | 'socketPath'>,
  tmp: string,
): Record<string, string> {
  const made: Record<string, string> = {
    DOCKER_HOST: `unix://${request.socketPath}`,
    TMPDIR: tmp,
    LANG: 'C.UTF-8',
    [makerVariable]: request.sessionId,
  };
  // The cache of compiled code that this process uses has been looked at: see cli/compile-cache.ts.
  const compiled = getCompileCacheDir();
  if (compiled !== undefined) made['NODE_COMPILE_CACHE'] = dirname(compiled);
  for (const name of ['PATH', 'HOME', 'USER', 'DOCKER_CONFIG']) {
    const value = env[name];
    if (value !== undefined) made[name] = value;
  }
  return made;
}

type Outcome = { readonly containerId?: string; readonly message?: string };

async function answer(child: ChildProcess, verb: string, progress: (line: string) => void): Promise<Outcome> {
  const out: string[] = [];
  const said: string[] = [];
  const [[code]] = (await Promise.all([
    once(child, 'close'),
    eachLine(child.stdout!, (line) => out.push(line)),
    eachLine(child.stderr!, (line) => note(line, said, progress)),
  ])) as [[number | null], void, void];
  const result = outcome(out.at(-1));
  if (code === 0 && result !== null) return result;
  const conflict = said.find((line) => /container name "[^"]*" is already in use/.test(line));
  if (conflict !== undefined)
    throw new WraptoolError('session_exists', conflict.trim(), {
      hint: 'choose another --name, or "docker rm -f" it',
    });
  throw new WraptoolError(
    'runtime_failed',
    `devcontainer ${verb} failed: ${result?.message ?? `exit code ${String(code)}`}`,
    {
      problems: said
        .flatMap((text) => text.split('\n'))
        .filter(tells)
        .slice(-8),
      hint: 'the lines above are from the Dev Containers CLI and Docker',
    },
  );
}

/** Neither empty nor a line of the CLI's own stack: what Docker said stands before those. */
function tells(line: string): boolean {
  return line.trim() !== '' && !/^\s+at\s/.test(line);
}

function outcome(line: string | undefined): Outcome | null {
  try {
    return line === undefined ? null : (JSON.parse(line) as Outcome);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The CLI's log: one JSON object in a line, else a line of Docker itself. */
function note(line: string, said: string[], progress: (line: string) => void): void {
  let entry: { type?: string; text?: string };
  try {
    entry = JSON.parse(line) as { type?: string; text?: string };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    entry = { type: 'raw', text: line };
  }
  if (entry.text === undefined) return;
  if (entry.type === 'start' && !entry.text.startsWith('Run')) progress(entry.text.toLowerCase());
  if (entry.type === 'raw' || entry.type === 'text') said.push(entry.text.trimEnd());
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
