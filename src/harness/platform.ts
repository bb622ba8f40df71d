/** The machine that an installation is for, where it is not this one. */
import { WraptoolError } from '../errors.ts';

/** In npm's words. */
export type Platform = {
  readonly os: string;
  readonly cpu: string;
  /** Null where there is no choice of C libraries. */
  readonly libc: 'glibc' | 'musl' | null;
};

const known = {
  os: ['linux', 'darwin'],
  cpu: ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x'],
  libc: ['glibc', 'musl'],
} as const;

export function hostPlatform(): Platform {
  return { os: process.platform, cpu: process.arch, libc: process.platform === 'linux' ? hostLibc() : null };
}

/** What a container of any glibc image needs. */
export function containerPlatform(): Platform {
  return { os: 'linux', cpu: process.arch, libc: 'glibc' };
}

function hostLibc(): 'glibc' | 'musl' {
  // A report asks for the names of all open sockets' peers otherwise.
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** What the flags leave out is as here; glibc where another system is named. Error: usage. */
export function platformOf(flags: { os?: string; cpu?: string; libc?: string }): Platform {
  const host = hostPlatform();
  const os = flags.os ?? host.os;
  const libc = flags.libc ?? (os === 'linux' ? (host.libc ?? 'glibc') : null);
  for (const key of ['os', 'cpu', 'libc'] as const) {
    const value = flags[key];
    if (value === undefined || (known[key] as readonly string[]).includes(value)) continue;
    throw new WraptoolError('usage', `"${value}" is no --${key} that is known`, {
      hint: `there are: ${known[key].join(', ')}`,
    });
  }
  if (os !== 'linux' && flags.libc !== undefined)
    throw new WraptoolError('usage', `--libc is for linux alone`, { hint: 'leave it out' });
  return { os, cpu: flags.cpu ?? host.cpu, libc: libc as Platform['libc'] };
}

/** Null for this machine's own. */
export function foreign(platform: Platform | undefined): Platform | null {
  if (platform === undefined) return null;
  const host = hostPlatform();
  return platform.os === host.os && platform.cpu === host.cpu && platform.libc === host.libc
    ? null
    : platform;
}

export function platformName({ os, cpu, libc }: Platform): string {
  return [os, cpu, ...(libc === null ? [] : [libc])].join('-');
}

/** npm's flags for it. */
export function platformArgs(platform: Platform | null): string[] {
  if (platform === null) return [];
  const libc = platform.libc === null ? [] : [`--libc=${platform.libc}`];
  return [`--os=${platform.os}`, `--cpu=${platform.cpu}`, ...libc];
}
