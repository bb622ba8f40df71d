/** Taking in a descriptor that somebody wrote: judged first, then put where the operator's own lie. */
import { constants } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { assertOperatorsOwn } from '../config/location.ts';
import { textOf, updateFile } from '../edit/file.ts';
import { refusalError } from '../edit/refuse.ts';
import { WraptoolError } from '../errors.ts';
import { largestDescriptor, userDescriptors } from './descriptor.ts';
import { parseDescriptor } from './parse.ts';
import type { DescriptorData } from './schema.ts';

export type Added = {
  readonly descriptor: DescriptorData;
  /** Where it lies now. */
  readonly file: string;
  /** False where exactly this one was there already. */
  readonly changed: boolean;
};

export type AddOptions = {
  readonly name: string;
  /** The file that it is taken from. */
  readonly from: string;
  /** Whether another one of that name gives way. */
  readonly replace: boolean;
  readonly dryRun: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Errors: harness_invalid with every located problem, harness_exists, unsafe_location, edit_failed. */
export async function addDescriptor(options: AddOptions): Promise<Added> {
  const bytes = await readGiven(options.from);
  const text = textOf(bytes);
  if (typeof text !== 'string') throw refusalError(text, options.from);
  const descriptor = parseDescriptor(text, options.from);
  if (descriptor.name !== options.name)
    throw new WraptoolError(
      'harness_invalid',
      `the descriptor "${options.from}" names itself "${descriptor.name}"`,
      { hint: `add it as "${descriptor.name}", or write "name: ${options.name}"` },
    );
  const file = path.join(userDescriptors(options.env), `${options.name}.yaml`);
  await assertOperatorsOwn(file, 'descriptor');
  let changed = false;
  const decide = (there: Uint8Array | null): { write: Uint8Array } | null => {
    changed = there === null || !bytes.equals(there);
    if (!changed) return null;
    if (there !== null && !options.replace)
      throw new WraptoolError('harness_exists', `there is another descriptor "${file}"`, {
        hint: 'look at both, then add it with --replace',
      });
    return { write: bytes };
  };
  if (options.dryRun) decide(await readThere(file));
  else await updateFile(file, decide);
  return { descriptor, file, changed };
}

async function readThere(file: string): Promise<Uint8Array | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function readGiven(file: string): Promise<Buffer> {
  try {
    // O_NONBLOCK: opening a FIFO must not hang.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await handle.stat();
    if (facts.isFile() && facts.size <= largestDescriptor) return await handle.readFile();
  } catch (error) {
    throw new WraptoolError('harness_invalid', `cannot read the descriptor "${file}"`, {
      cause: error,
      hint: error instanceof Error ? error.message : undefined,
    });
  }
  throw new WraptoolError(
    'harness_invalid',
    `"${file}" is not a regular file of at most ${largestDescriptor} bytes`,
  );
}
