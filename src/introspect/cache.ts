/** What was read of a binary's help, kept until the binary is another one. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ResolvedBinary } from '../executor/types.ts';
import type { Help } from './help/types.ts';

/** Raised whenever the parser reads more: what an older one read is not used. */
const parserVersion = 1;

export type HelpCache = {
  readonly read: (binary: ResolvedBinary, argv: readonly string[]) => Promise<Help | null>;
  readonly write: (binary: ResolvedBinary, argv: readonly string[], help: Help) => Promise<void>;
};

/** Files `NAME.json` in `dir`, which is made with mode 0700; a file that can't be used counts as absent. */
export function createHelpCache(dir: string): HelpCache {
  const fileOf = (binary: ResolvedBinary, argv: readonly string[]) =>
    path.join(dir, `${helpKey(binary, argv)}.json`);
  return {
    read: async (binary, argv) => {
      try {
        return asHelp(JSON.parse(await readFile(fileOf(binary, argv), 'utf8')));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (error instanceof SyntaxError || code === 'ENOENT' || code === 'EACCES') return null;
        throw error;
      }
    },
    write: async (binary, argv, help) => {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const file = fileOf(binary, argv);
      const fresh = `${file}.${randomBytes(6).toString('hex')}`;
      try {
        await writeFile(fresh, JSON.stringify({ path: binary.path, argv, help }), {
          mode: 0o600,
          flag: 'wx',
        });
        await rename(fresh, file);
      } finally {
        await rm(fresh, { force: true });
      }
    },
  };
}

/** The binary's path, device, inode, size and mtime, and the argv, as a file's name. */
export function helpKey(
  { path: file, dev, ino, size, mtimeNs }: ResolvedBinary,
  argv: readonly string[],
): string {
  const identity = [parserVersion, file, dev, ino, size, mtimeNs, ...argv].map(String);
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32);
}

function asHelp(value: unknown): Help | null {
  if (typeof value !== 'object' || value === null || !('help' in value)) return null;
  const { subcommands, flags } = (value.help ?? {}) as Partial<Help>;
  if (typeof subcommands !== 'object' || subcommands === null || !Array.isArray(flags)) return null;
  const described = Object.values(subcommands).every((text) => typeof text === 'string');
  return described && flags.every(isFlag) ? { subcommands, flags } : null;
}

function isFlag(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { long, short, description, value: takes } = value as Record<string, unknown>;
  const name = (one: unknown) => one === null || typeof one === 'string';
  return (
    name(long) &&
    name(short) &&
    typeof description === 'string' &&
    ['none', 'required', 'optional'].includes(takes as string)
  );
}
