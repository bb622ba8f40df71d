/** Which Docker engine the operator's own `docker` would talk to, by the same rules, and whether it is this machine's. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { liesIn } from './find-program.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Endpoint =
  | { readonly ok: true; readonly socketPath: string }
  | { readonly ok: false; readonly reason: string; readonly hint: string };

const defaultSocket = '/var/run/docker.sock';

/**
 * DOCKER_HOST, else the current context, else the default socket. Settings in one of the folders of `hostile` are refused:
 * they say which programs the client runs.
 */
export async function resolveEndpoint(env: Env, hostile: readonly string[] = []): Promise<Endpoint> {
  const settings = env['DOCKER_CONFIG'] ?? '';
  if (settings !== '' && (await liesIn(resolve(settings), hostile)))
    return {
      ok: false,
      reason: `DOCKER_CONFIG is "${settings}", a folder of the workspace: the client runs programs from there`,
      hint: 'unset DOCKER_CONFIG, or let it name a folder outside of the workspace',
    };
  const host = env['DOCKER_HOST'];
  if (host !== undefined && host !== '') return judge(host, `DOCKER_HOST is "${host}"`, hostile);
  // Empty is unset: as a relative folder it would be the current one, an agent's.
  const folder = env['DOCKER_CONFIG'] || join(env['HOME'] || homedir(), '.docker');
  const context = env['DOCKER_CONTEXT'] || (await currentContext(folder));
  if (context === undefined || context === 'default') return { ok: true, socketPath: defaultSocket };
  const key = createHash('sha256').update(context).digest('hex');
  const meta = await readJson(join(folder, 'contexts', 'meta', key, 'meta.json'));
  const named = textAt(meta, 'Endpoints', 'docker', 'Host');
  if (named === undefined)
    return {
      ok: false,
      reason: `the Docker context "${context}" cannot be read`,
      hint: 'look at "docker context ls"',
    };
  return judge(named, `the Docker context "${context}" is "${named}"`, hostile);
}

/** A container of another machine sees that machine's files: the workspace would be somebody else's. */
async function judge(host: string, found: string, hostile: readonly string[]): Promise<Endpoint> {
  const path = host.startsWith('unix://') ? host.slice('unix://'.length) : '';
  if (path.startsWith('/') && (await liesIn(path, hostile)))
    return {
      ok: false,
      reason: `${found}, a socket in the workspace: an agent could be the engine`,
      hint: 'unset DOCKER_HOST, or let it name a socket outside of the workspace',
    };
  if (path.startsWith('/')) return { ok: true, socketPath: path };
  return {
    ok: false,
    reason: `${found}, not a Unix socket of this machine`,
    hint: 'unset DOCKER_HOST, or choose a local engine with "docker context use default"',
  };
}

async function currentContext(folder: string): Promise<string | undefined> {
  return textAt(await readJson(join(folder, 'config.json')), 'currentContext');
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return typeof found === 'string' && found !== '' ? found : undefined;
}
