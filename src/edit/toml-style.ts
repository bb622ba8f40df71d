/** Values written as TOML 1.0: no line breaks and no trailing commas in inline tables. */
import { EditRefused } from './refuse.ts';
import type { Json } from './types.ts';

export type Table = { readonly [key: string]: Json };

export function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : tomlString(key);
}

export function tomlPath(path: readonly string[]): string {
  return path.map(tomlKey).join('.');
}

/** One line for each pair. */
export function tableLines(table: Table): string[] {
  return Object.entries(table).map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value, ' ')}`);
}

/** `inner` is the white space inside the braces. */
export function inlineTable(table: Table, inner: string): string {
  const pairs = Object.entries(table).map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value, inner)}`);
  return pairs.length === 0 ? '{}' : `{${inner}${pairs.join(', ')}${inner}}`;
}

function tomlValue(value: Json, inner: string): string {
  if (value === null) throw new EditRefused('wrong_type', 'TOML has no null');
  if (typeof value === 'string') return tomlString(value);
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map((item: Json) => tomlValue(item, inner)).join(', ')}]`;
  return inlineTable(value as Table, inner);
}

function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', '\\u007F');
}
