/** Which argv of a program only prints help. */
import { basename } from 'node:path';

/** `names`: what the binary is called, as configured and behind its links. Null: nothing is known to be safe. */
export function helpArgv(
  names: readonly string[],
  configured: readonly string[] | null,
): readonly string[] | null {
  // The operator's word counts, also against running it at all.
  if (configured !== null) return configured.length === 0 ? null : configured;
  const called = names.map((name) => basename(name).replace(/\.(?:exe|js|mjs|cjs|py|rb|sh)$/, ''));
  if (called.some((name) => acts.test(name) || pagers.has(name))) return null;
  for (const name of called) if (Object.hasOwn(known, name)) return known[name]!;
  return usual;
}

/**
 * `--help` is what programs agree on, and what an option parser refuses where it is unknown. `-h` is a host, a size or
 * a halt elsewhere, and `help` a file or a target: those are for programs that are known to mean help by them.
 */
const usual = ['--help'];

const known: Readonly<Record<string, readonly string[]>> = {
  go: ['help'],
  ip: ['-help'],
  bridge: ['-help'],
  tc: ['-help'],
  java: ['-help'],
  javac: ['-help'],
  openssl: ['help'],
  sqlite3: ['-help'],
  terraform: ['-help'],
  tofu: ['-help'],
  packer: ['-help'],
  unzip: ['-h'],
  zip: ['-h'],
};

/** They act whatever they are given, or did so with `-h` once; what manages processes and disks is left alone, too. */
const acts =
  /^(?:shutdown|halt|poweroff|reboot|kexec|init|telinit|runlevel|killall5?|pkill|skill|snice|swapoff|mkfs(?:\..*)?|mke2fs|mkswap|wipefs|fdisk|sfdisk|parted|login|su|sudo|doas|pkexec|passwd|yes)$/;

/** They show things on a terminal, by other programs. */
const pagers: ReadonlySet<string> = new Set(['less', 'more', 'most', 'pg', 'man', 'info']);
