import { constants } from 'node:fs';
import { access, type FileHandle, lstat, open, readFile, readlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { WraptoolError } from '../errors.ts';
import type { ResolvedBinary } from './types.ts';

const changeIt = 'name a program that only root or you can write to';

/**
 * Resolves a configured binary, once per config: the real path behind every link, an ELF file or a script with an
 * absolute interpreter (libc hands anything else to a shell), in no folder of `agentWritable` (real paths), and
 * writable by none but root and the operator.
 * Throws binary_invalid.
 */
export async function resolveBinary(path: string, agentWritable: readonly string[]): Promise<ResolvedBinary> {
  if (!path.startsWith('/') || path.includes('\0'))
    throw invalid(path, 'is not an absolute path', 'write it in full');
  const { resolved, interpreter } = await examine(path, agentWritable);
  // An interpreter may be a script itself; the kernel follows four.
  let next = interpreter;
  for (let depth = 0; next !== null; depth++) {
    if (depth === 4) throw invalid(path, 'has too many interpreters', 'name the program itself');
    next = (await examine(next, agentWritable)).interpreter;
  }
  return resolved;
}

/** Throws binary_invalid if the file is no longer the one that was resolved. */
export async function checkBinary(binary: ResolvedBinary): Promise<void> {
  const stat = await lstat(binary.path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    throw invalid(
      binary.path,
      `can't be read any more (${error.code ?? error.message})`,
      'reload the config',
      error,
    );
  });
  const same =
    stat.isFile() &&
    stat.dev === binary.dev &&
    stat.ino === binary.ino &&
    stat.mtimeNs === binary.mtimeNs &&
    stat.size === binary.size;
  if (!same)
    throw invalid(binary.path, 'changed since the config was loaded', 'look at it, then reload the config');
}

async function examine(
  path: string,
  agentWritable: readonly string[],
): Promise<{ resolved: ResolvedBinary; interpreter: string | null }> {
  const handle = await openBinary(path);
  try {
    const real = await readlink(`/proc/self/fd/${handle.fd}`);
    const stat = await handle.stat({ bigint: true });
    if (!stat.isFile()) throw invalid(path, 'is not a file', 'name the program itself');
    const root = agentWritable.find((folder) => real === folder || real.startsWith(`${folder}/`));
    if (root !== undefined) throw invalid(path, `lies in '${root}', where the agent can write`, changeIt);
    await checkOwners(real);
    await checkExecutable(real);
    const { dev, ino, mtimeNs, size } = stat;
    return {
      resolved: Object.freeze({ path: real, dev, ino, mtimeNs, size }),
      interpreter: await kindOf(path, handle),
    };
  } finally {
    await handle.close();
  }
}

async function openBinary(path: string): Promise<FileHandle> {
  try {
    // Not blocking, because it may be a pipe.
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw invalid(
      path,
      code === 'ENOENT' ? 'does not exist' : `can't be opened (${code})`,
      'mend `binary`',
      error,
    );
  }
}

async function checkExecutable(real: string): Promise<void> {
  try {
    await access(real, constants.X_OK);
  } catch (error) {
    throw invalid(real, 'is not executable', `chmod +x, or name another one`, error);
  }
}

/** Null for ELF, the absolute interpreter of a script. */
async function kindOf(path: string, handle: FileHandle): Promise<string | null> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
  const start = buffer.subarray(0, bytesRead).toString('latin1');
  if (start.startsWith('\x7fELF')) return null;
  if (!start.startsWith('#!')) {
    throw invalid(
      path,
      "is neither an ELF file nor a script with '#!'",
      'give it a first line such as #!/bin/sh',
    );
  }
  const interpreter = /^#![ \t]*([^ \t\n]*)/.exec(start)?.[1] ?? '';
  if (interpreter.startsWith('/')) return interpreter;
  throw invalid(
    path,
    `has the interpreter '${interpreter}', which depends on the working directory`,
    'write it in full',
  );
}

/** The file and every folder above it; a sticky folder doesn't count, because its entries keep their owners. */
async function checkOwners(real: string): Promise<void> {
  const operator = process.getuid!();
  for (let path = real; ; path = dirname(path)) {
    const stat = await lstat(path);
    if (stat.uid !== 0 && stat.uid !== operator) {
      throw invalid(real, `could be replaced by uid ${stat.uid}, the owner of '${path}'`, changeIt);
    }
    const sticky = stat.isDirectory() && (stat.mode & S_ISVTX) !== 0;
    if ((stat.mode & 0o002) !== 0 && !sticky)
      throw invalid(real, `could be replaced: everybody can write to '${path}'`, changeIt);
    if ((stat.mode & 0o020) !== 0 && !sticky && !(await ownGroup(stat.gid))) {
      throw invalid(real, `could be replaced: group ${stat.gid} can write to '${path}'`, changeIt);
    }
    if (path === '/') return;
  }
}

const S_ISVTX = 0o1000;

/** Root's group, or the operator's private one. */
async function ownGroup(gid: number): Promise<boolean> {
  if (gid === 0) return true;
  if (gid !== process.getgid!()) return false;
  const others = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .map((line) => line.split(':'))
    .some(([, , uid, primary]) => Number(primary) === gid && Number(uid) !== process.getuid!());
  const group = (await readFile('/etc/group', 'utf8'))
    .split('\n')
    .find((line) => Number(line.split(':')[2]) === gid);
  return !others && (group === undefined || (group.split(':')[3] ?? '') === '');
}

function invalid(path: string, problem: string, hint: string, cause?: unknown): WraptoolError {
  return new WraptoolError('binary_invalid', `'${path}' ${problem}`, { hint, cause });
}
