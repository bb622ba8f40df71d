/** A client's own config on the host: which file it is, and what our server's entry in it says. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { EntryPlace } from '../edit/receipts.ts';
import type { Grammar, Json } from '../edit/types.ts';
import { WraptoolError } from '../errors.ts';
import { homeDir, stateDir } from '../paths.ts';
import { programPlace } from '../places.ts';
import { transports, type ClientConfig, type Transport } from './config-schema.ts';
import type { DescriptorData } from './schema.ts';
import { fillJson, placeholders } from './template.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The name that our server has in every client. */
export const serverKey = 'wraptool';

/** The section `config` of a descriptor. Error: usage where it has none. */
export function configOf(descriptor: DescriptorData): ClientConfig {
  if (descriptor.config !== undefined) return descriptor.config;
  throw new WraptoolError(
    'usage',
    `the descriptor of "${descriptor.name}" does not say where its config is`,
    {
      hint: '`wraptool harness list` shows for which it is known; `up` needs none of it',
    },
  );
}

/** Folder of what is needed to take a client's entries back. */
export function receiptsDir(env: Env, name: string): string {
  return path.join(stateDir(env), 'clients', name);
}

/** Where the entry goes: into `file`, else into the client's own config. */
export async function entryPlace(
  config: ClientConfig,
  file: string | undefined,
  env: Env,
): Promise<EntryPlace> {
  return {
    file: file === undefined ? await ownFile(config, env) : path.resolve(file),
    format: config.format,
    grammar: grammarOf(config),
    path: [...config.path, serverKey],
  };
}

function grammarOf({ format, comments, trailing_commas }: ClientConfig): Grammar {
  const loose = format === 'jsonc';
  return { comments: comments ?? loose, trailingCommas: trailing_commas ?? loose };
}

async function ownFile(config: ClientConfig, env: Env): Promise<string> {
  const folders = process.platform === 'darwin' ? (config.macos ?? config.folders) : config.folders;
  const folder = folders.map((template) => folderOf(template, env)).find((one) => one !== null);
  if (folder === undefined || folder === null)
    throw new WraptoolError('usage', `none of ${folders.join(', ')} is set to an absolute path`, {
      hint: 'set it, or name the file with --file',
    });
  const files = config.names.map((name) => path.join(folder, name));
  for (const file of files) if (await exists(file)) return file;
  return files[0] ?? folder;
}

function folderOf(template: string, env: Env): string | null {
  const [root = '', ...rest] = template.split('/');
  const base = root === '~' ? homeDir(env) : env[root.slice(1)];
  return base !== undefined && path.isAbsolute(base) ? path.join(base, ...rest) : null;
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * The transport that is meant: the one that was asked for, else the first that needs no token in the file, else the
 * first. Error: usage.
 */
export function transportOf(name: string, config: ClientConfig, asked: string | undefined): Transport {
  const offered = transports.filter((one) => config[one] !== undefined);
  const found =
    asked === undefined
      ? (offered.find((one) => !holdsToken(config[one])) ?? offered[0])
      : offered.find((one) => one === asked);
  if (found !== undefined) return found;
  const known = (transports as readonly string[]).includes(asked ?? '');
  throw new WraptoolError(
    'usage',
    known ? `"${name}" has no transport "${asked}"` : `"${asked}" is no transport`,
    { hint: `it has ${offered.join(', ')}` },
  );
}

export type Written = {
  readonly value: Json;
  /** Whether the token itself is in it: the client can expand no variable. */
  readonly secret: boolean;
  /** A text of ours, or of the file, with the token not shown. */
  readonly masked: (text: string) => string;
};

const relayMain = programPlace('relay/main');
const hiddenToken = '<WRAPTOOL_TOKEN>';

/**
 * What our server's entry says. A client that can read a variable gets its name, never the token. `token` is asked for
 * only where the client cannot; null: only to be shown.
 */
export async function entryFor(
  config: ClientConfig,
  transport: Transport,
  url: string,
  token: (() => Promise<string>) | null,
): Promise<Written> {
  const template = config[transport] ?? {};
  const secret = holdsToken(template);
  const filledIn = secret && token !== null ? await token() : hiddenToken;
  const places = {
    ...{ home: '', harness: '', workspace: '', files: '' },
    ...{ url, token: filledIn, node: process.execPath, relay: relayMain },
  };
  return {
    value: fillJson(template, { places, env: {} }) as Json,
    secret: secret && token !== null,
    masked: (text) => text.replaceAll(filledIn, hiddenToken),
  };
}

function holdsToken(template: unknown): boolean {
  return placeholders(JSON.stringify(template)).some(({ kind }) => kind === 'token');
}
