/** Values of JSON written as YAML: strings plain where no reader could take them for anything else. */
import type { Json } from './types.ts';
import { doubleQuoted, isPlain } from './yaml-style.ts';

type Table = { readonly [key: string]: Json };

export type FlowLayout = {
  readonly inner: string;
  readonly gap: string;
  readonly colon: string;
  /** Quote every string, as in a file that is JSON. */
  readonly quoteAll: boolean;
};

function isTable(value: Json): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function word(text: string, flow: boolean): string {
  return /^[A-Za-z][A-Za-z0-9_./:@-]*$/.test(text) && isPlain(text, flow) ? text : doubleQuoted(text);
}

/** A pair in block style, its key in column `at`, each level `step` further right. */
export function blockPair(key: string, value: Json, at: number, step: number): string[] {
  const name = `${' '.repeat(at)}${word(key, false)}:`;
  const inline = onOneLine(value);
  return inline === null ? [name, ...blockValue(value, at + step, step)] : [`${name} ${inline}`];
}

/** The lines of a mapping or list that is not empty. */
export function blockValue(value: Json, at: number, step: number): string[] {
  if (isTable(value)) return Object.entries(value).flatMap(([key, item]) => blockPair(key, item, at, step));
  return (value as readonly Json[]).flatMap((item) => {
    const inline = onOneLine(item);
    if (inline !== null) return [`${' '.repeat(at)}- ${inline}`];
    const [first = '', ...rest] = blockValue(item, at + 2, step);
    return [`${' '.repeat(at)}- ${first.slice(at + 2)}`, ...rest];
  });
}

/** Scalars and empty collections; null for what takes lines of its own. */
export function onOneLine(value: Json): string | null {
  if (typeof value === 'string') return word(value, false);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Object.keys(value).length > 0) return null;
  return Array.isArray(value) ? '[]' : '{}';
}

export function flowPair(key: string, value: Json, layout: FlowLayout): string {
  return `${layout.quoteAll ? doubleQuoted(key) : word(key, true)}${layout.colon}${flowValue(value, layout)}`;
}

export function flowValue(value: Json, layout: FlowLayout): string {
  const { inner, gap, quoteAll } = layout;
  if (typeof value === 'string') return quoteAll ? doubleQuoted(value) : word(value, true);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => flowValue(item, layout)).join(`,${gap}`)}]`;
  const pairs = Object.entries(value as Table).map(([key, item]) => flowPair(key, item, layout));
  return pairs.length === 0 ? '{}' : `{${inner}${pairs.join(`,${gap}`)}${inner}}`;
}
