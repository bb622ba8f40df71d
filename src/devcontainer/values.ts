/** Values of a parsed definition as JavaScript code takes them. */
import type { Json } from './jsonc.ts';
import { pointer } from './types.ts';

export type JsonObject = { [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Own property, never one of the prototype. */
export function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A value, or several in an array: each with its place. Falsy: none. */
export function each(
  value: Json | undefined,
  at: string,
): readonly { readonly value: Json; readonly at: string }[] {
  if (!value) return [];
  if (!Array.isArray(value)) return [{ value, at }];
  return value.map((one, index) => ({ value: one, at: `${at}${pointer(index)}` }));
}

/** Every string value with its place; keys are not looked at. */
export function* strings(value: Json | undefined, at = ''): Generator<{ text: string; at: string }> {
  if (typeof value === 'string') yield { text: value, at };
  else if (Array.isArray(value))
    for (const [index, one] of value.entries()) yield* strings(one, `${at}${pointer(index)}`);
  else if (isObject(value))
    for (const [name, one] of Object.entries(value)) yield* strings(one, `${at}${pointer(name)}`);
}

/** As JavaScript makes text of it where the CLI takes it for a word: that of an array is what its members say. */
export function textOf(value: Json): string {
  if (Array.isArray(value)) return value.map((one) => (one === null ? '' : textOf(one))).join(',');
  return isObject(value) ? '[object Object]' : String(value);
}

/** Text of a value for the operator's eyes. */
export function shown(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
