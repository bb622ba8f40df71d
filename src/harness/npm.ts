/** The operator's npm: where it is, what it says about the registry, and the command lines of an installation. */
import { execFile } from 'node:child_process';
import { access, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { WraptoolError } from '../errors.ts';
import { platformArgs, type Platform } from './platform.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Npm = {
  /** npm's main file, run by our own Node. */
  readonly cli: string;
  /** Folder that must be seen for it to run. */
  readonly dir: string;
  /** How the operator runs it. */
  readonly command: readonly string[];
};

export type Registry = {
  readonly url: string;
  /** npm's settings as environment variables; credentials of the registry are not among them. */
  readonly env: Readonly<Record<string, string>>;
  /** A file with certificates that must be seen, or null. */
  readonly cafile: string | null;
};

export async function findNpm(env: Env): Promise<Npm> {
  const beside = path.join(path.dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js');
  const onPath = (env['PATH'] ?? '').split(':').filter((folder) => path.isAbsolute(folder));
  const candidates = [
    { file: beside, command: [process.execPath, beside] },
    // By its own node: where that one lies says where npm's global settings are.
    ...onPath.map((folder) => path.join(folder, 'npm')).map((file) => ({ file, command: [file] })),
  ];
  for (const { file, command } of candidates) {
    const real = await existing(file);
    // A shim of a version manager is a shell script that leads elsewhere.
    if (real?.endsWith('/npm-cli.js') === true)
      return { cli: real, dir: path.dirname(path.dirname(real)), command };
  }
  throw new WraptoolError('harness_install_failed', 'there is no npm to install the harness with', {
    hint: 'install npm (it comes with Node.js) and put it on PATH',
  });
}

async function existing(file: string): Promise<string | null> {
  try {
    const real = await realpath(file);
    await access(real);
    return real;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null;
    throw error;
  }
}

const plainKeys = ['registry', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl', 'maxsockets'] as const;

/**
 * The registry's settings as the operator's npm resolves them, asked in `/` so that no project's .npmrc counts.
 * Error: harness_install_failed where npm does not answer.
 */
export async function registrySettings(npm: Npm, env: Env): Promise<Registry> {
  const settings = await ask(npm, env);
  const out: Record<string, string> = {};
  for (const key of plainKeys) {
    const value = settings[key];
    const text = Array.isArray(value) ? value.join(',') : value;
    if (typeof text === 'boolean' || typeof text === 'number' || (typeof text === 'string' && text !== ''))
      out[`npm_config_${key.replaceAll('-', '_')}`] = String(text);
  }
  for (const [key, value] of Object.entries(settings))
    if (/^@[a-z0-9._-]+:registry$/.test(key) && typeof value === 'string') out[`npm_config_${key}`] = value;
  const url = settings['registry'];
  const cafile = settings['cafile'] ?? env['NODE_EXTRA_CA_CERTS'];
  return {
    url: typeof url === 'string' ? url : 'https://registry.npmjs.org/',
    env: out,
    cafile: typeof cafile === 'string' && path.isAbsolute(cafile) ? await existing(cafile) : null,
  };
}

async function ask(npm: Npm, env: Env): Promise<Readonly<Record<string, unknown>>> {
  try {
    const [file, ...args] = [...npm.command, 'config', 'list', '--json'];
    const { stdout } = await promisify(execFile)(file!, args, {
      cwd: '/',
      env: { ...env },
      timeout: 30_000,
    });
    return JSON.parse(stdout) as Record<string, unknown>;
  } catch (error) {
    throw new WraptoolError('harness_install_failed', 'npm does not say its settings', {
      cause: error,
      hint: `see what "npm config list --json" says in "/"`,
    });
  }
}

/** Fetches the package and what it depends on; nothing of it runs. */
export function installArgs(npm: Npm, name: string, version: string, platform: Platform | null): string[] {
  return [
    npm.cli,
    'install',
    '--ignore-scripts',
    '--omit=dev',
    '--save-exact',
    '--no-audit',
    '--no-fund',
    '--no-update-notifier',
    '--no-progress',
    '--loglevel=http',
    ...platformArgs(platform),
    `${name}@${version}`,
  ];
}

/** Runs the install scripts of the named packages. */
export function scriptsArgs(npm: Npm, packages: readonly string[]): string[] {
  return [
    npm.cli,
    'rebuild',
    '--ignore-scripts=false',
    '--foreground-scripts',
    '--no-update-notifier',
    '--no-progress',
    '--loglevel=warn',
    '--offline',
    ...packages,
  ];
}
