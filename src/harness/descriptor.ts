/** Descriptors: harnesses/NAME.yaml of the package, and the operator's own, which go first. */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { assertOperatorsOwn } from '../config/location.ts';
import { WraptoolError } from '../errors.ts';
import { configDir } from '../paths.ts';
import { packagePlace } from '../places.ts';
import { nearest } from './nearest.ts';
import { parseDescriptor } from './parse.ts';
import type { DescriptorData } from './schema.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Descriptor = DescriptorData & { readonly file: string; readonly origin: 'built-in' | 'user' };

const builtIn = packagePlace('harnesses');
/** A descriptor of more bytes than this is none. */
export const largestDescriptor = 256 * 1024;

/** Folder of the operator's own descriptors. */
export function userDescriptors(env: Env): string {
  return path.join(configDir(env), 'harnesses');
}

type Found = { readonly name: string; readonly file: string; readonly origin: Descriptor['origin'] };

/**
 * Reads one descriptor. Errors: harness_unknown (with the known names), harness_invalid (with every
 * located problem), unsafe_location (others could write it).
 */
export async function loadDescriptor(name: string, env: Env): Promise<Descriptor> {
  const found = await find(env);
  const entry = found.find((candidate) => candidate.name === name);
  if (entry) return read(entry);
  const names = found.map((candidate) => candidate.name);
  const near = nearest(name, names);
  throw new WraptoolError('harness_unknown', `there is no harness "${name}"`, {
    hint: `${near === undefined ? '' : `did you mean "${near}"? `}known: ${names.join(', ')}; your own go into ${userDescriptors(env)}`,
  });
}

/** Every descriptor by name; one that is invalid is an error, told with its file. */
export async function listDescriptors(env: Env): Promise<Descriptor[]> {
  return Promise.all((await find(env)).map(read));
}

async function find(env: Env): Promise<Found[]> {
  const found = new Map<string, Found>();
  for (const [folder, origin] of [
    [builtIn, 'built-in'],
    [userDescriptors(env), 'user'],
  ] as const)
    for (const file of await yamlFiles(folder)) {
      const name = path.basename(file, '.yaml');
      found.set(name, { name, file, origin });
    }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function yamlFiles(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => name.endsWith('.yaml')).map((name) => path.join(folder, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

async function read({ name, file, origin }: Found): Promise<Descriptor> {
  // It says what runs and what is installed: nobody but the operator may have written it.
  if (origin === 'user') await assertOperatorsOwn(file, 'descriptor');
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new WraptoolError('harness_invalid', `cannot read the descriptor "${file}"`, {
      cause: error,
      hint: error instanceof Error ? error.message : undefined,
    });
  });
  if (bytes.length > largestDescriptor)
    throw new WraptoolError(
      'harness_invalid',
      `the descriptor "${file}" is larger than ${largestDescriptor} bytes`,
    );
  const data = parseDescriptor(bytes.toString('utf8'), file);
  if (data.name !== name)
    throw new WraptoolError('harness_invalid', `the descriptor "${file}" names itself "${data.name}"`, {
      hint: `rename it to ${data.name}.yaml, or write "name: ${name}"`,
    });
  return Object.freeze({ ...data, file, origin });
}

/** Error: usage for a client of which only the config on the host is known. */
export function assertRunnable(descriptor: DescriptorData): void {
  if (descriptor.command.length > 0) return;
  throw new WraptoolError(
    'usage',
    `"${descriptor.name}" does not run in a container: its descriptor is for its config alone`,
    {
      hint: `"wraptool harness config ${descriptor.name}" writes the gateway into its config`,
    },
  );
}
