/** What a mount shows of the host: `--mount` strings as the engine's client reads them, and `-v`. */
import path from 'node:path';
import type { Ground, Verdict } from './types.ts';
import { hostMark } from './variables.ts';

type Fields = { readonly [key: string]: string };
export type MountText = { readonly fields: Fields; readonly options: readonly string[] };

const flags = new Set(['readonly', 'ro', 'volume-nocopy', 'bind-nonrecursive']);
const keys = new Set([
  ...flags,
  ...['type', 'source', 'src', 'target', 'dst', 'destination', 'consistency', 'bind-propagation'],
  ...['bind-recursive', 'volume-subpath', 'volume-label', 'volume-driver', 'volume-opt'],
  ...['image-subpath', 'tmpfs-size', 'tmpfs-mode', 'tmpfs-options'],
]);
const aliases: Readonly<Record<string, string>> = {
  src: 'source',
  dst: 'target',
  destination: 'target',
  ro: 'readonly',
};

/** What `--mount` gives; a string is why the engine's client refuses it. */
export function readMount(text: string): MountText | string {
  const record = csvRecord(text);
  if (record === null) return 'the quotes are wrong';
  const fields: { [key: string]: string } = Object.create(null) as { [key: string]: string };
  const options: string[] = [];
  for (const field of record) {
    const at = field.indexOf('=');
    const key = (at === -1 ? field : field.slice(0, at)).toLowerCase();
    if (!keys.has(key)) return `"${key}" is no key of a mount`;
    if (at === -1 && !flags.has(key)) return `"${key}" has no value`;
    const value = at === -1 ? 'true' : field.slice(at + 1);
    if (key === 'volume-opt') options.push(value);
    else fields[aliases[key] ?? key] = value;
  }
  return { fields, options };
}

/** Null: nothing of the host is shown beyond the workspace. */
export async function judgeMount(text: string, ground: Ground): Promise<Verdict | null> {
  const read = readMount(text);
  if (typeof read === 'string') return outside(`the engine refuses it, or reads it otherwise: ${read}`);
  const { fields, options } = read;
  const type = (fields['type'] ?? 'volume').toLowerCase();
  if (type.includes(hostMark)) return outside('its type is taken from the host’s environment');
  if (type === 'bind') return judgeSource(fields['source'] ?? '', ground);
  if (type === 'volume' || type === 'image') return judgeVolume(fields, options);
  if (type === 'tmpfs') return null;
  return outside(`nobody can say what a mount of type "${type}" shows`);
}

/** `-v` and `--volume`: `[SOURCE:]TARGET[:OPTIONS]`. */
export async function judgeVolumeFlag(text: string, ground: Ground): Promise<Verdict | null> {
  const colon = text.indexOf(':');
  if (colon === -1) return text.includes(hostMark) ? outside('taken from the host’s environment') : null;
  const source = text.slice(0, colon);
  if (/^[/.~\\]/.test(source) || source.includes(hostMark)) return judgeSource(source, ground);
  return null;
}

/** A folder or file of the host, as a bind mount has it. */
export async function judgeSource(source: string, ground: Ground): Promise<Verdict | null> {
  if (source.includes(hostMark)) return outside('a path from the host’s environment');
  if (source.startsWith('~')) return outside('a path of the host; nobody expands the tilde');
  // Relative to the folder of the command: the workspace at best.
  const full = path.resolve(ground.workspace, source);
  const where = await ground.where(full);
  if (where === 'link')
    return { code: 'symlink_outside', severity: 'host', why: 'a link leads out of the workspace' };
  if (where === 'outside') return isSocket(full) ? socket(full) : outside('a path of the host');
  return path.isAbsolute(source)
    ? null
    : { code: 'mount_outside_workspace', severity: 'info', why: 'relative to where the command is given' };
}

function judgeVolume(fields: Fields, options: readonly string[]): Verdict | null {
  const source = fields['source'] ?? '';
  if (source.includes(hostMark)) return outside('its name is taken from the host’s environment');
  const driver = fields['volume-driver'] ?? 'local';
  if (driver !== 'local' && driver !== '') return outside(`the volume driver "${driver}" can mount anything`);
  if (options.length > 0 && !onlyMemory(options))
    return outside('driver options make it a mount of the host or of the network');
  if (/^[/.~]/.test(source))
    return {
      code: 'mount_outside_workspace',
      severity: 'info',
      why: 'no name for a volume: the engine refuses it',
    };
  return null;
}

/** Options of a volume that is kept in memory. */
function onlyMemory(options: readonly string[]): boolean {
  const pairs = new Map(
    options.map((option) => {
      const at = option.indexOf('=');
      return [option.slice(0, at).toLowerCase(), option.slice(at + 1)] as const;
    }),
  );
  return (
    pairs.get('type') === 'tmpfs' &&
    pairs.get('device') === 'tmpfs' &&
    !/bind|addr/.test(pairs.get('o') ?? '')
  );
}

function outside(why: string): Verdict {
  return { code: 'mount_outside_workspace', severity: 'host', why };
}

function socket(full: string): Verdict {
  const why = full.endsWith('.sock')
    ? 'who has the engine’s socket has the host'
    : 'the folder of the engine’s socket';
  return { code: 'docker_socket', severity: 'host', why };
}

/** The socket of an engine under its usual names, or the folder that holds it. */
function isSocket(full: string): boolean {
  const place = full.replace(/^\/var\/run(?=\/|$)/, '/run');
  return (
    /\/(docker|podman|containerd|crio|buildkitd)(\.raw)?\.sock$/.test(place) ||
    /^\/run(\/(podman|docker|containerd|buildkit|user|user\/[0-9]+|user\/[0-9]+\/podman))?$/.test(place)
  );
}

/** The first record of CSV by the strict rules of RFC 4180; null where the quotes are wrong. */
export function csvRecord(text: string): readonly string[] | null {
  const made: string[] = [];
  let rest = text.replace(/^(\r?\n)+/, '');
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(?=,|\r?\n|$)/.exec(rest);
    const field = quoted ?? /^[^",\r\n]*(?=,|\r?\n|$)/.exec(rest);
    if (field === null) return null;
    made.push(quoted === null ? field[0] : (quoted[1] as string).replaceAll('""', '"'));
    rest = rest.slice(field[0].length);
    if (!rest.startsWith(',')) return made;
    rest = rest.slice(1);
  }
}
