/** `wraptool harness config` and `restore`: our server in the operator's own client config, and out of it again. */
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { setEntry } from '../edit/entry.ts';
import { peek, textOf } from '../edit/file.ts';
import { keptFor, type EntryPlace } from '../edit/receipts.ts';
import { refusalError } from '../edit/refuse.ts';
import type { Json, Outcome } from '../edit/types.ts';
import { addEntry } from '../edit/undo.ts';
import { WraptoolError } from '../errors.ts';
import {
  configOf,
  entryFor,
  entryPlace,
  receiptsDir,
  transportOf,
  type Written,
} from '../harness/client-config.ts';
import type { ClientConfig } from '../harness/config-schema.ts';
import { loadDescriptor } from '../harness/descriptor.ts';
import { refuseAgentWritable } from './agent-writable.ts';
import { gatewayAddress, gatewayToken } from './gateway-address.ts';
import { escapeHostile } from './hostile.ts';
import { note, printJson } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

type Flags = {
  readonly print?: boolean;
  readonly url?: string;
  readonly transport?: string;
  readonly file?: string;
  readonly entry?: string;
  readonly config?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

/** `path`: where it goes instead of the descriptor's place. */
type Given = Written & { readonly path?: readonly string[] };

export function registerConfig(harness: Command): void {
  harness
    .command('config')
    .description("write the gateway into a client's own config on this host (exit 3 where that is refused)")
    .argument('<name>')
    .option('--print', 'print what would be written into an empty file, and write nothing')
    .option('--url <url>', 'address of the gateway; default: that of `mcp.listen` or `mcp.socket`')
    .option('--transport <name>', 'http, sse or stdio')
    .option('--file <file>', "another file than the client's own")
    .option(
      '--entry <json>',
      'write this object instead of the descriptor’s entry; {path, key, value} writes it elsewhere in the file',
    )
    .option('--config <file>', 'config file')
    .option('--dry-run', 'print the diff and leave the file alone')
    .option('--json', 'a receipt: what was written where')
    .action((name: string, flags: Flags) => config(name, flags, process.env));
}

async function config(name: string, flags: Flags, env: Env): Promise<void> {
  const section = configOf(await loadDescriptor(name, env));
  const own = await entryPlace(section, flags.file, env);
  const written =
    flags.entry === undefined ? await ours(name, section, flags, env) : given(flags.entry, flags);
  const place = written.path === undefined ? own : { ...own, path: written.path };
  if (flags.print) return print(place, written.value, flags.json === true);
  await refuseAgentWritable(place.file, env);
  if (written.secret) await refuseReadable(place.file);
  const folder = receiptsDir(env, name);
  const outcome = flags.dryRun
    ? await planned(place, written.value)
    : await addEntry(place, written.value, folder);
  if (!outcome.ok) throw refusalError(outcome, place.file);
  const changed = outcome.changes.length > 0;
  const kept = flags.dryRun ? null : await keptFor(place, folder);
  const diff = flags.dryRun ? written.masked(outcome.diff) : null;
  if (flags.json)
    return printJson({
      harness: name,
      file: place.file,
      format: place.format,
      path: place.path,
      entry: JSON.parse(written.masked(JSON.stringify(written.value))),
      changed,
      dry_run: flags.dryRun === true,
      diff,
      backup: kept?.backup ?? null,
      receipt: kept?.receipt ?? null,
    });
  if (diff !== null) process.stdout.write(diff.split('\n').map(escapeHostile).join('\n'));
  note(said(name, place.file, changed, flags.dryRun === true));
  if (changed && section.afterwards !== undefined && flags.entry === undefined) note(section.afterwards);
}

function said(name: string, file: string, changed: boolean, dryRun: boolean): string {
  if (!changed) return `"${file}" says so already`;
  if (dryRun) return `"${file}" was left alone`;
  return `written to "${file}"; "wraptool harness restore ${name}" takes it back`;
}

/** The entry of the descriptor, filled. */
async function ours(name: string, section: ClientConfig, flags: Flags, env: Env): Promise<Given> {
  const transport = transportOf(name, section, flags.transport);
  const url = await gatewayAddress(transport, flags, env);
  return entryFor(section, transport, url, flags.print ? null : () => gatewayToken(name, flags.config, env));
}

/** What the operator wrote out. */
function given(text: string, flags: Flags): Given {
  for (const [option, value] of [
    ['--url', flags.url],
    ['--transport', flags.transport],
  ])
    if (value !== undefined)
      throw new WraptoolError('usage', `${option} and --entry cannot go together`, {
        hint: 'leave one of them out',
      });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new WraptoolError('usage', '--entry is not JSON', {
      hint: error instanceof Error ? error.message : undefined,
      cause: error,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WraptoolError('usage', '--entry is not a JSON object', { hint: 'such as \'{"url": "…"}\'' });
  const entry = value as Readonly<Record<string, Json>>;
  const place = placed(entry);
  return {
    ...(place === null ? { value: entry } : { value: place.value, path: place.path }),
    secret: false,
    masked: (own) => own,
  };
}

/** An entry may say where it goes: `{path, key, value}`, as no server's own does. */
function placed(entry: Readonly<Record<string, Json>>): { path: string[]; value: Json } | null {
  const { path: keys, key, value } = entry;
  if (!Array.isArray(keys) || typeof key !== 'string' || value === undefined) return null;
  if (keys.length > 0 && keys.every((one): one is string => typeof one === 'string'))
    return { path: [...(keys as string[]), key], value };
  throw new WraptoolError('usage', '"path" of --entry is not a list of keys');
}

/** A file with the token in it is for its owner alone; a new one is made so. */
async function refuseReadable(file: string): Promise<void> {
  const mode = await stat(file).then(
    (facts) => facts.mode,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0;
      throw error;
    },
  );
  if ((mode & 0o077) !== 0)
    throw new WraptoolError(
      'edit_failed',
      `"${file}" is readable by others, and the token has to be written into it`,
      {
        hint: `\`chmod 600 ${file}\` first: this client can read no variable`,
      },
    );
}

function print(place: EntryPlace, value: Json, json: boolean): void {
  if (json) return printJson({ file: place.file, format: place.format, path: place.path, entry: value });
  const alone = setEntry(place.format, '', place.path, value, place.grammar);
  if (!alone.ok) throw refusalError(alone, place.file);
  process.stdout.write(alone.text);
}

async function planned(place: EntryPlace, value: Json): Promise<Outcome> {
  const text = textOf((await peek(place.file)) ?? Buffer.alloc(0));
  return typeof text === 'string' ? setEntry(place.format, text, place.path, value, place.grammar) : text;
}
