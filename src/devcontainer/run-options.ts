/** `docker run`: what each option lets reach the host. */
import path from 'node:path';
import { csvRecord, judgeMount, judgeVolumeFlag } from './mount.ts';
import { isOn, readOptions, type Option, type Shape } from './options.ts';
import type { Code, Ground, Severity, Verdict } from './types.ts';
import { hostMark } from './variables.ts';

const words = (text: string): string[] => text.trim().split(/\s+/);

/** These stay in the container. */
const plain = words(`
  add-host attach blkio-weight cap-drop cpu-count cpu-percent cpu-period cpu-quota cpu-shares cpus cpuset-cpus cpuset-mems
  detach-keys dns dns-opt dns-option dns-search domainname expose health-cmd health-interval health-retries
  health-start-interval health-start-period health-timeout hostname ip ip6 isolation kernel-memory link-local-ip
  mac-address memory memory-reservation memory-swap memory-swappiness net-alias network-alias pids-limit platform
  shm-size stop-signal stop-timeout tmpfs user workdir`);
/** Worth a line. */
const remarkable: Readonly<Record<string, string>> = {
  'blkio-weight-device': 'a limit for a device of the host',
  'cpu-rt-period': 'real-time scheduling',
  'cpu-rt-runtime': 'real-time scheduling',
  'device-read-bps': 'a limit for a device of the host',
  'device-read-iops': 'a limit for a device of the host',
  'device-write-bps': 'a limit for a device of the host',
  'device-write-iops': 'a limit for a device of the host',
  entrypoint: 'replaces the first program',
  'group-add': 'a group of the host matters only with a mount',
  'io-maxbandwidth': 'a limit for a device of the host',
  'io-maxiops': 'a limit for a device of the host',
  pull: 'may make the engine fetch the image again',
  restart: 'outlives the session',
  'storage-opt': 'options of the storage driver',
  sysctl: 'kernel settings of its own namespaces',
  ulimit: 'limits other than the engine’s',
};
const reaching: Readonly<Record<string, string>> = {
  annotation: 'the engine’s runtime may act on it',
  'cgroup-parent': 'leaves its cgroup',
  cidfile: 'writes a file on the host',
  device: 'a device of the host',
  'device-cgroup-rule': 'access to devices of the host',
  gpus: 'devices of the host',
  link: 'variables and addresses of another container',
  'log-driver': 'sends the log elsewhere',
  'log-opt': 'sends the log elsewhere',
  runtime: 'another program of the host starts the container',
  'volume-driver': 'a volume driver can mount anything',
  'volumes-from': 'mounts of another container',
};
const judged: Readonly<Record<string, (value: string, ground: Ground) => Verdict[] | Promise<Verdict[]>>> = {
  'cap-add': () => [reach('cap_add', 'capability')],
  'security-opt': (value) => [securityOption(value)],
  cgroupns: (value) => namespace(value),
  env: (value) => (value.includes('=') ? [] : [reach('local_env', 'no value: the host’s')]),
  'env-file': namedFile('variables'),
  ipc: (value) => namespace(value),
  label: (value) => label(value),
  'label-file': namedFile('labels'),
  mount: async (value, ground) => some(await judgeMount(value, ground)),
  name: (value) => (value.startsWith('wraptool-') ? [reach('run_args', 'poses as another session')] : []),
  net: network,
  network,
  'oom-score-adj': (value) =>
    value.startsWith('-') ? [reach('run_args', 'others on the host are killed first')] : [],
  pid: (value) => namespace(value),
  publish: () => [reach('published_port', 'listens on the host')],
  userns: (value) => namespace(value),
  uts: (value) => namespace(value),
  volume: async (value, ground) => some(await judgeVolumeFlag(value, ground)),
};
const plainSwitches = words(
  'disable-content-trust init interactive no-healthcheck quiet read-only rm sig-proxy tty',
);
const switches: Readonly<Record<string, Verdict>> = {
  detach: { code: 'run_args', severity: 'info', why: 'nobody is told when it ends' },
  help: { code: 'run_args', severity: 'info', why: 'prints the help instead of starting a container' },
  'oom-kill-disable': reach('run_args', 'others on the host are killed first'),
  privileged: reach('privileged', 'all capabilities and devices'),
  'publish-all': reach('published_port', 'listens on the host'),
  'use-api-socket': reach('docker_socket', 'who has the engine’s socket has the host'),
};

export const runShape: Shape = {
  switches: new Set([...plainSwitches, ...Object.keys(switches)]),
  valued: new Set([...plain, ...Object.keys(remarkable), ...Object.keys(reaching), ...Object.keys(judged)]),
  short: {
    a: 'attach',
    c: 'cpu-shares',
    d: 'detach',
    e: 'env',
    h: 'hostname',
    i: 'interactive',
    l: 'label',
    m: 'memory',
    p: 'publish',
    P: 'publish-all',
    q: 'quiet',
    t: 'tty',
    u: 'user',
    v: 'volume',
    w: 'workdir',
  },
  ends: true,
};

export type ArgumentVerdict = Verdict & { readonly index: number; readonly arg: string };

/** Judges arguments that stand before the CLI's own. `raw` is what is shown. */
export async function judgeRunArguments(
  raw: readonly string[],
  given: readonly string[],
  ground: Ground,
): Promise<readonly ArgumentVerdict[]> {
  const found: ArgumentVerdict[] = [];
  // The words are known but for the host's variables: those stand with their default.
  const bare = given.map((word) => word.replace(new RegExp(`^${hostMark}+`), ''));
  for (const part of readOptions(bare, runShape)) {
    const arg = shown(raw, part.index, part.kind === 'option' ? part.valueIndex : part.index);
    const verdicts =
      part.kind === 'option'
        ? await judgeOption(part, given, ground)
        : [
            reach(
              'run_args',
              part.kind === 'word'
                ? 'taken for the image; options after it no longer count'
                : 'unknown: may reach the host',
            ),
          ];
    found.push(...verdicts.map((verdict) => ({ ...verdict, index: part.index, arg })));
  }
  return found;
}

async function judgeOption(option: Option, given: readonly string[], ground: Ground): Promise<Verdict[]> {
  const { name, value } = option;
  if (value === null) return [reach('run_args', 'without a value: takes the next word of the command')];
  const onSwitch = switches[name];
  if (onSwitch !== undefined) return isOn(value) ? [onSwitch] : [];
  if (remarkable[name] !== undefined) return [{ code: 'run_args', severity: 'info', why: remarkable[name] }];
  if (reaching[name] !== undefined) return [reach('run_args', reaching[name])];
  // A detached value with the host's variable at its beginning keeps the mark.
  const marked = option.valueIndex === option.index ? value : (given[option.valueIndex] ?? value);
  return (await judged[name]?.(marked, ground)) ?? [];
}

function shown(raw: readonly string[], from: number, to: number): string {
  return raw.slice(from, to + 1).join(' ');
}

/** `host`, `container:NAME`, or its own. */
function namespace(value: string): Verdict[] {
  if (value === 'host' || value.includes(hostMark))
    return [reach('host_namespace', 'shares a namespace with the host')];
  return value.startsWith('container:') ? [reach('run_args', 'namespace of another container')] : [];
}

/** `NAME`, or `name=NAME,alias=…`. */
export function networkName(value: string): string {
  const fields = value.includes('=') ? (csvRecord(value) ?? [value]) : [`name=${value}`];
  return fields.findLast((field) => /^name=/i.test(field))?.slice('name='.length) ?? value;
}

function network(value: string): Verdict[] {
  const name = networkName(value);
  const shared = namespace(name);
  if (shared.length > 0 || ['', 'bridge', 'default', 'none', 'private'].includes(name)) return shared;
  return [{ code: 'run_args', severity: 'info', why: 'joins a network that other containers may be in' }];
}

export function securityOption(value: string): Verdict {
  const why: readonly (readonly [RegExp, string])[] = [
    [/^seccomp[=:]unconfined$/, 'no system call filter'],
    [/^seccomp[=:]/, 'a system call filter of the author’s choice'],
    [/^apparmor[=:]/, 'another AppArmor profile'],
    [/^label[=:]/, 'no label confinement'],
    [/^systempaths[=:]/, 'the kernel’s paths are not masked'],
  ];
  if (/^no-new-privileges([=:]true)?$/.test(value))
    return { code: 'security_opt', severity: 'info', why: 'makes it stricter' };
  return reach('security_opt', why.find(([shape]) => shape.test(value))?.[1] ?? 'changes the confinement');
}

function label(value: string): Verdict[] {
  if (value.startsWith('wraptool.')) return [reach('run_args', 'poses as another session')];
  if (value.startsWith('devcontainer.') || value.includes(hostMark))
    return [reach('run_args', 'replaces what later runs read from the container')];
  return [];
}

/** A file that the engine's client reads on the host. A bare NAME in it copies the host's variable. */
function namedFile(what: 'variables' | 'labels') {
  return async (value: string, ground: Ground): Promise<Verdict[]> => {
    const full = path.resolve(ground.workspace, value);
    const where = value.includes(hostMark) ? 'outside' : await ground.where(full);
    if (where !== 'inside') return [reach('run_args', `${what} from a file of the host`)];
    const bytes = await ground.read(full);
    if (bytes === null) return [{ code: 'run_args', severity: 'info', why: 'the file is not there' }];
    const lines = bytes
      .toString('utf8')
      .split(/\r?\n/)
      .map((line) => line.trimStart());
    const used = lines.filter((line) => line !== '' && !line.startsWith('#'));
    if (what === 'variables')
      return used.every((line) => line.includes('='))
        ? []
        : [reach('local_env', 'a name without a value in the file copies the host’s variable')];
    return used.flatMap(label);
  };
}

function some(verdict: Verdict | null): Verdict[] {
  return verdict === null ? [] : [verdict];
}

function reach(code: Code, why: string): Verdict {
  return { code, severity: 'host' satisfies Severity, why };
}
