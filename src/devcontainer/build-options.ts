/** `docker build`: what each option lets reach the host. */
import path from 'node:path';
import { csvRecord } from './mount.ts';
import { isOn, readOptions, type Option, type Shape } from './options.ts';
import type { ArgumentVerdict } from './run-options.ts';
import type { Ground, Verdict } from './types.ts';
import { hostMark } from './variables.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);

const plain = words(`
  add-host annotation attest cpu-period cpu-quota cpu-shares cpuset-cpus cpuset-mems isolation label memory memory-swap
  no-cache-filter platform progress provenance sbom shm-size target ulimit`);
const reaching: Readonly<Record<string, string>> = {
  allow: 'gives the build rights on the host',
  'build-context': 'another folder of the host, or an address',
  builder: 'another builder',
  'cache-to': 'writes the cache elsewhere',
  'cgroup-parent': 'leaves its cgroup',
  file: 'another Dockerfile than the one that was judged',
  iidfile: 'writes a file on the host',
  'metadata-file': 'writes a file on the host',
  output: 'writes files on the host',
  secret: 'a secret of the host',
  'security-opt': 'changes the confinement',
  ssh: 'the host’s ssh agent',
  tag: 'gives a name that other images may have',
  call: 'does something else than build',
};
const plainSwitches = words(
  'check compress debug disable-content-trust force-rm load no-cache pull quiet rm',
);
const valued = [...plain, ...Object.keys(reaching), 'build-arg', 'cache-from', 'network'];

export const buildShape: Shape = {
  switches: new Set([...plainSwitches, 'push', 'squash']),
  valued: new Set(valued),
  short: { c: 'cpu-shares', D: 'debug', f: 'file', m: 'memory', o: 'output', q: 'quiet', t: 'tag' },
  ends: false,
};

export async function judgeBuildOptions(
  raw: readonly string[],
  given: readonly string[],
  ground: Ground,
): Promise<readonly ArgumentVerdict[]> {
  const found: ArgumentVerdict[] = [];
  for (const part of readOptions(given, buildShape)) {
    const last = part.kind === 'option' ? part.valueIndex : part.index;
    const arg = raw.slice(part.index, last + 1).join(' ');
    const verdict =
      part.kind === 'option'
        ? await judgeOption(part, ground)
        : reach(part.kind === 'word' ? 'taken for the build context' : 'unknown: may reach the host');
    if (verdict !== null) found.push({ ...verdict, index: part.index, arg });
  }
  return found;
}

async function judgeOption({ name, value }: Option, ground: Ground): Promise<Verdict | null> {
  if (value === null) return reach('without a value: takes the next word of the command');
  if (reaching[name] !== undefined) return reach(reaching[name]);
  if (name === 'push') return isOn(value) ? reach('sends the image to a registry') : null;
  if (name === 'build-arg') return value.includes('=') ? null : reach('no value: the host’s');
  if (name === 'cache-from') return judgeCache(value, ground);
  if (name === 'network')
    return ['default', 'none', 'bridge', ''].includes(value) ? null : reach('another network, or the host’s');
  return null;
}

/** An image by name, or `type=local,src=FOLDER` and the like. Null: nothing of the host but a registry. */
export async function judgeCache(text: string, ground: Ground): Promise<Verdict | null> {
  const fields = new Map(
    (csvRecord(text) ?? [text]).map((field) => {
      const at = field.indexOf('=');
      return [field.slice(0, Math.max(at, 0)).trim().toLowerCase(), field.slice(at + 1)] as const;
    }),
  );
  const type = fields.get('type');
  if (type === undefined || type === 'registry' || type === 'inline') return null;
  const folder = fields.get('src');
  if (type !== 'local' || folder === undefined || folder.includes(hostMark))
    return reach('a cache that is reached with the host’s rights');
  const where = await ground.where(path.resolve(ground.workspace, folder));
  return where === 'inside' ? null : reach('folder of the host');
}

function reach(why: string): Verdict {
  return { code: 'build_options', severity: 'host', why };
}
