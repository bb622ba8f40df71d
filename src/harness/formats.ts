/** The formats of files that a descriptor seeds: read as the client reads them, and written. */
import * as toml from 'smol-toml';
import * as yaml from 'yaml';
import { jsonValue, readJson } from '../edit/json-read.ts';
import { EditRefused } from '../edit/refuse.ts';
import { mergeJson } from './merge.ts';

export const dataFormats = ['json', 'toml', 'yaml'] as const;
export type DataFormat = (typeof dataFormats)[number];
export type FileFormat = DataFormat | 'text';

type Codec = { readonly read: (text: string) => unknown; readonly write: (value: unknown) => string };

const codecs: Readonly<Record<DataFormat, Codec>> = {
  json: { read: readLenient, write: (value) => `${JSON.stringify(value, null, 2)}\n` },
  toml: { read: (text) => toml.parse(text), write: (value) => `${toml.stringify(value)}\n` },
  yaml: { read: (text) => yaml.parse(text) as unknown, write: (value) => yaml.stringify(value) },
};

/** Several clients head their JSON with a comment of their own, which a merge may lose. */
function readLenient(text: string): unknown {
  const { root } = readJson(text, { comments: true, trailingCommas: true });
  return root === null ? null : jsonValue(root);
}

export function writeData(format: DataFormat, value: unknown): string {
  return codecs[format].write(value);
}

/**
 * `there`, a hostile text, with the data of `seed` merged in; `there` itself where that changes nothing; null where it
 * is no map of that format (an empty text, which also stands for one that is too large to read, is none).
 */
export function mergeText(format: DataFormat, there: string, seed: string): string | null {
  const { read, write } = codecs[format];
  const data = read(seed);
  if (there === '') return null;
  try {
    const base = read(there);
    if (typeof base !== 'object' || base === null || Array.isArray(base)) return null;
    const merged = write(mergeJson(base, data));
    return merged === write(base) ? there : merged;
  } catch (error) {
    if (isUnreadable(error)) return null;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  if (error instanceof EditRefused || error instanceof toml.TomlError || error instanceof yaml.YAMLError)
    return true;
  // RangeError: nested deeper than can be read or written; ReferenceError: what the YAML reader says of its aliases.
  return error instanceof RangeError || error instanceof ReferenceError || error instanceof TypeError;
}
