import { lstatSync, readlinkSync } from 'node:fs';
import type { Bind } from './types.ts';

/** What every program needs of the host's /etc, and nothing with a secret in it (no ssl/private, no shadow). */
const etc = [
  'passwd',
  'group',
  'nsswitch.conf',
  'hosts',
  'host.conf',
  'protocols',
  'services',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'timezone',
  'os-release',
  'alternatives',
  'terminfo',
  'gitconfig',
  'mime.types',
  'ca-certificates',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ssl/cert.pem',
  'pki/tls/certs',
  'pki/tls/cert.pem',
  'pki/tls/openssl.cnf',
  'pki/ca-trust/extracted',
  'crypto-policies',
];

/**
 * uid 0 owns most of a fresh /proc, so it can read and write there without any capability: /proc/sys too, where
 * core_pattern names a program that the kernel runs on the host. bubblewrap covers less than this.
 */
const procReadOnly = ['sys', 'bus', 'irq', 'fs', 'driver', 'sysrq-trigger', 'mtrr'];
const procEmpty = ['acpi', 'asound', 'scsi'];
// prettier-ignore
const procNothing = [
  'kcore', 'keys', 'key-users', 'kallsyms', 'kmsg', 'kpagecount', 'kpageflags', 'kpagecgroup',
  'latency_stats', 'sched_debug', 'timer_list', 'slabinfo', 'vmallocinfo', 'iomem', 'ioports',
];

const MiB = 1024 * 1024;

/** Options for the base system: /usr with its links, the narrow /etc, /proc, /dev, private /tmp and /run. */
export function baseSystem(options: {
  hostResolver: boolean;
  asRoot: boolean;
  tmpBytes: number | null;
}): string[] {
  const out = ['--ro-bind', '/usr', '/usr', ...topLinks(), '--dir', '/etc'];
  for (const name of etc) out.push('--ro-bind-try', `/etc/${name}`, `/etc/${name}`);
  if (options.hostResolver) out.push('--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf');
  out.push('--proc', '/proc');
  if (options.asRoot) out.push(...maskedProc());
  out.push('--dev', '/dev', ...shared('/dev/shm', '1777', 512 * MiB), '--remount-ro', '/dev');
  out.push(...shared('/tmp', '1777', options.tmpBytes), ...shared('/run', '0755', 64 * MiB));
  out.push('--dir', '/var', '--symlink', '/tmp', '/var/tmp');
  return out;
}

function shared(path: string, perms: string, bytes: number | null): string[] {
  return ['--perms', perms, ...(bytes === null ? [] : ['--size', String(bytes)]), '--tmpfs', path];
}

/** /bin, /lib, … as the host has them: links into /usr, or folders where the distribution did not merge them. */
function topLinks(): string[] {
  return ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap((name) => {
    const stat = lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    if (stat.isSymbolicLink()) return ['--symlink', readlinkSync(`/${name}`), `/${name}`];
    return ['--ro-bind', `/${name}`, `/${name}`];
  });
}

/** Only for uid 0: masks on /proc would keep another user's own nested sandbox from mounting one. */
function maskedProc(): string[] {
  const there = (names: readonly string[]): string[] => names.map((name) => `/proc/${name}`).filter(present);
  return [
    ...there(procReadOnly).flatMap((path) => ['--ro-bind', path, path]),
    ...there(procEmpty).flatMap((path) => [
      '--perms',
      '0555',
      '--size',
      '4096',
      '--tmpfs',
      path,
      '--remount-ro',
      path,
    ]),
    ...there(procNothing).flatMap((path) => ['--ro-bind', '/dev/null', path]),
  ];
}

/**
 * What must be mounted read-only over /proc for uid 0 in a sandbox that another program makes: itself, or nothing in its
 * place.
 */
export function procMasks(): readonly Bind[] {
  const over = (names: readonly string[], source: (path: string) => string): Bind[] =>
    names
      .map((name) => `/proc/${name}`)
      .filter(present)
      .map((path) => ({ source: source(path), target: path }));
  return [...over([...procReadOnly, ...procEmpty], (path) => path), ...over(procNothing, () => '/dev/null')];
}

function present(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
