/** How an object of a JSON file is laid out, and values written the same way. */
import type { JsonDocument, JsonNode } from './json-read.ts';
import { beginsLine, indentOf, lineStart } from './lines.ts';
import type { Json } from './types.ts';

export type ObjectNode = Extract<JsonNode, { type: 'object' }>;

/** White space on one line. */
export type Inline = { readonly colon: string; readonly comma: string; readonly brace: string };

export function inlineStyle(text: string, node: ObjectNode, root: ObjectNode): Inline {
  const [first, second] = (node.members.length > 0 ? node : root).members;
  if (first === undefined) return { colon: ' ', comma: ' ', brace: ' ' };
  const open = (node.members.length > 0 ? node : root).start;
  const colon = spaces(text.slice(first.colon + 1, first.value.start)) ?? ' ';
  const comma = second && spaces(text.slice(first.end, second.start).replace(/^\s*,/, ''));
  return { colon, comma: comma ?? colon, brace: spaces(text.slice(open + 1, first.start)) ?? colon };
}

function spaces(text: string): string | null {
  return /^[ \t]*$/.test(text) ? text : null;
}

/** By how much members are indented: those of the object itself, else those of the root, else two spaces. */
export function unitOf(text: string, node: ObjectNode, root: ObjectNode): string {
  return step(text, node) ?? step(text, root) ?? '  ';
}

function step(text: string, node: ObjectNode): string | null {
  const member = node.members.find(({ start }) => beginsLine(text, start));
  if (member === undefined) return null;
  // A leading comma counts as part of the indentation of what it leads.
  const base = /^[ \t]*(,[ \t]*)?/.exec(text.slice(lineStart(text, node.start)))?.[0].replace(',', ' ') ?? '';
  const indent = indentOf(text, member.start);
  return indent.length > base.length && indent.startsWith(base) ? indent.slice(base.length) : null;
}

export type Place =
  /** Begins a line, behind this white space. */
  | { readonly kind: 'line'; readonly indent: string }
  /** Begins a line behind a comma; further lines of it are indented by `indent`. */
  | { readonly kind: 'leading'; readonly before: string; readonly indent: string }
  | { readonly kind: 'inline' };

export function placeOf(text: string, offset: number): Place {
  const before = text.slice(lineStart(text, offset), offset);
  if (/^[ \t]*$/.test(before)) return { kind: 'line', indent: before };
  if (/^[ \t]*,[ \t]*$/.test(before)) return { kind: 'leading', before, indent: before.replace(',', ' ') };
  return { kind: 'inline' };
}

export function pretty(value: Json, unit: string, indent: string, eol: string): string {
  // JSON has no raw tab or line break inside strings, so those found are all indentation; stringify takes ten characters at most.
  return JSON.stringify(value, null, '\t').replace(
    /\n(\t*)/g,
    (_, tabs: string) => eol + indent + unit.repeat(tabs.length),
  );
}

export function compact(value: Json, style: Inline): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item: Json) => compact(item, style)).join(`,${style.comma}`)}]`;
  const members = Object.entries(value as { [key: string]: Json }).map(
    ([key, item]) => `${JSON.stringify(key)}:${style.colon}${compact(item, style)}`,
  );
  return members.length === 0 ? '{}' : `{${style.brace}${members.join(`,${style.comma}`)}${style.brace}}`;
}

/** The end of the comments that begin on the line of `offset`, reached over blanks only. */
export function afterComments(text: string, offset: number, comments: JsonDocument['comments']): number {
  for (let at = offset, end = offset; ;) {
    const comment = comments.get(at);
    if (comment !== undefined) at = end = comment;
    else if (text[at] === ' ' || text[at] === '\t') at += 1;
    else return end;
  }
}
