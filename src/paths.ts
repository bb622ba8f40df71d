/** XDG folders of wraptool. Every path that the product keeps something under is named here. */
import os from 'node:os';
import path from 'node:path';

type Env = Readonly<Record<string, string | undefined>>;

function base(env: Env, name: string, fallback: string): string {
  const value = env[name];
  // The specification says that a relative value is to be ignored.
  return value !== undefined && path.isAbsolute(value) ? value : path.join(homeDir(env), fallback);
}

/** The operator's HOME. */
export function homeDir(env: Env): string {
  return env['HOME'] !== undefined && path.isAbsolute(env['HOME']) ? env['HOME'] : os.homedir();
}

export function configDir(env: Env): string {
  return path.join(base(env, 'XDG_CONFIG_HOME', '.config'), 'wraptool');
}

export function stateDir(env: Env): string {
  return path.join(base(env, 'XDG_STATE_HOME', '.local/state'), 'wraptool');
}

export function cacheDir(env: Env): string {
  return path.join(base(env, 'XDG_CACHE_HOME', '.cache'), 'wraptool');
}

/** Folder of the live sessions: the only truth about them. */
export function sessionsDir(env: Env): string {
  const runtime = env['XDG_RUNTIME_DIR'];
  return runtime !== undefined && path.isAbsolute(runtime)
    ? path.join(runtime, 'wraptool')
    : path.join(stateDir(env), 'run');
}
