/** Finds where an entry goes in a TOML file: as a table at its end, or into an inline table. What is written is TOML 1.0. */
import { isDeepStrictEqual } from 'node:util';
import { insertion, placeAfter } from './flow.ts';
import {
  beginsLine,
  endBefore,
  indentOf,
  isBlank,
  lastBreak,
  lineEnd,
  lineEndAt,
  lineStart,
} from './lines.ts';
import { nested, quoted, withoutValue, withValue, type Plan } from './plan.ts';
import { EditRefused } from './refuse.ts';
import { inlinePairs, readTomlValue, statements, tomlComment, type Statement } from './toml-read.ts';
import { inlineTable, tableLines, tomlKey, tomlPath } from './toml-style.ts';
import type { Change, Json } from './types.ts';

type Table = { readonly [key: string]: Json };

/** Puts the table `value` at `path`; null where it says the same already. */
export function setToml(text: string, path: readonly string[], value: Json): Plan | null {
  const data = readTomlValue(text);
  const found = statements(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new EditRefused('wrong_type', `${quoted(path)} must be a table`);
  const table = value as Table;
  const expected = withValue(data, path, value);
  const holder = inlineHolder(text, found, path);
  if (holder !== null) return setInline(text, holder, path, table, data);
  checkContainers(found, path);
  if (isDeepStrictEqual(valueAt(data, path), value)) return null;
  const parts = entryParts(found, path);
  const header = parts.find(({ kind, path: own }) => kind === 'table' && own.length === path.length);
  const inline = parts.find(({ kind, path: own }) => kind === 'pair' && own.length === path.length);
  if (inline !== undefined) {
    const { start, end } = inline.value;
    const old = text.slice(start, end);
    return {
      changes: [{ at: start, remove: old, insert: inlineTable(table, innerSpace(text, start, end)) }],
      expected,
      own: [old],
    };
  }
  const changes =
    header === undefined
      ? [...removeParts(text, found, parts), appendTable(text, path, table)]
      : replaceTable(text, found, parts, header, table);
  return { changes, expected, own: changes.map(({ remove }) => remove) };
}

/** Takes what is at `path` out, and the inmost `made` containers if nothing else is in them; null where nothing is there. */
export function removeToml(text: string, path: readonly string[], made: number): Plan | null {
  const data = readTomlValue(text);
  const found = statements(text);
  if (valueAt(data, path) === undefined) return null;
  const inline = inlineHolder(text, found, path);
  const length =
    made > 0 && inline !== null && inlinePairs(text, inline.value.start).length === 1
      ? inline.path.length
      : null;
  if (length !== null && length >= path.length - made) {
    const whole = path.slice(0, length);
    const changes = removeParts(text, found, [inline as Statement]);
    return { changes, expected: withoutValue(data, whole), own: changes.map(({ remove }) => remove) };
  }
  const changes =
    inline === null ? removeParts(text, found, entryParts(found, path)) : [removeInline(text, inline, path)];
  // A container that was only ever named in our own header is gone with it.
  const gone =
    [...path.keys()].map((index) => path.slice(0, index + 1)).find((own) => isOnlyIn(found, own, path)) ??
    path;
  return { changes, expected: withoutValue(data, gone), own: changes.map(({ remove }) => remove) };
}

function isOnlyIn(
  found: readonly Statement[],
  container: readonly string[],
  path: readonly string[],
): boolean {
  return found
    .filter(({ path: own }) => startsWith(own, container))
    .every(({ path: own }) => startsWith(own, path));
}

function startsWith(path: readonly string[], head: readonly string[]): boolean {
  return head.every((key, index) => path[index] === key);
}

function valueAt(data: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Table)[key]
        : undefined,
    data,
  );
}

/** The pair whose value is an inline table that holds the entry or would. */
function inlineHolder(text: string, found: readonly Statement[], path: readonly string[]): Statement | null {
  return (
    found.find(
      ({ kind, path: own, value }) =>
        kind === 'pair' && own.length < path.length && startsWith(path, own) && text[value.start] === '{',
    ) ?? null
  );
}

function checkContainers(found: readonly Statement[], path: readonly string[]): void {
  for (const { kind, path: own, start, value } of found) {
    const container = own.length < path.length && startsWith(path, own);
    const entry = own.length === path.length && startsWith(path, own);
    if ((container && kind === 'pair') || ((container || entry) && kind === 'array'))
      throw new EditRefused(
        'wrong_type',
        `${quoted(own)} must be a table`,
        kind === 'pair' ? value.start : start,
      );
  }
}

/** The statements that make up the entry: its header, pairs and sub-tables. */
function entryParts(found: readonly Statement[], path: readonly string[]): Statement[] {
  return found.filter(({ path: own }) => startsWith(own, path));
}

function appendTable(text: string, path: readonly string[], table: Table): Change {
  const { broken } = lineEnd(text, text.length);
  const eol = lastBreak(text);
  const whole = text === '' || broken;
  const lastLine = text.slice(lineStart(text, whole ? text.length - 1 : text.length));
  const lines = [`[${tomlPath(path)}]`, ...tableLines(table)];
  const blank = text === '' || isBlank(lastLine) ? [] : [''];
  const added = [...blank, ...lines];
  return insertion(text.length, added.map((line) => (whole ? line + eol : eol + line)).join(''));
}

/** The lines between the header and the table’s last pair give way to the new ones, sub-tables go. */
function replaceTable(
  text: string,
  found: readonly Statement[],
  parts: readonly Statement[],
  header: Statement,
  table: Table,
): Change[] {
  const index = found.indexOf(header);
  const next = found.findIndex(({ kind }, at) => at > index && kind !== 'pair');
  const last = found[(next === -1 ? found.length : next) - 1] as Statement;
  const pairs = found.slice(index + 1, next === -1 ? undefined : next);
  const from = lineEnd(text, header.value.end);
  const to = lineEnd(text, last.value.end);
  const lines = tableLines(table);
  const { eol } = from;
  const insert = to.broken ? lines.map((line) => line + eol).join('') : eol + lines.join(eol);
  const change = from.broken
    ? {
        at: from.next,
        remove: text.slice(from.next, Math.max(from.next, to.next)),
        insert: to.broken ? insert : lines.join(eol),
      }
    : insertion(from.next, insert);
  const others = parts.filter((part) => part !== header && !pairs.includes(part));
  return [change, ...removeParts(text, found, others)];
}

/** Whole statements go, a table with the lines up to its last pair and with a blank line before it. */
function removeParts(text: string, found: readonly Statement[], parts: readonly Statement[]): Change[] {
  const ranges: [number, number][] = [];
  for (const part of parts) {
    const index = found.indexOf(part);
    const open = ranges.at(-1);
    const begin = lineStart(text, part.start);
    const { next } = lineEnd(text, part.value.end);
    if (open !== undefined && part.kind === 'pair' && parts.includes(found[index - 1] as Statement))
      open[1] = next;
    else ranges.push([begin, next]);
  }
  return ranges.map(([begin, end]) => {
    const [from, to] = withBlankLine(text, begin, end);
    return { at: from, remove: text.slice(from, to), insert: '' };
  });
}

function withBlankLine(text: string, begin: number, end: number): [number, number] {
  const before = lineStart(text, begin - 1);
  const header = /^[ \t]*\[/.test(text.slice(begin, end));
  if (header && begin > 0 && isBlank(text.slice(before, begin))) begin = before;
  else if (header && begin === 0) {
    const after = lineEndAt(text, end);
    if (after.broken && isBlank(text.slice(end, after.next))) return [begin, after.next];
  }
  // A file that ends without a line break still does.
  if (end === text.length && !text.endsWith('\n')) return [endBefore(text, begin), end];
  return [begin, end];
}

/** White space inside the braces of an inline table; of an empty one, a space. */
function innerSpace(text: string, start: number, end: number): string {
  const found = text[start] === '{' ? /^\{([ \t]*)[^ \t}]/.exec(text.slice(start, end)) : null;
  return found?.[1] ?? ' ';
}

function setInline(
  text: string,
  holder: Statement,
  path: readonly string[],
  value: Table,
  data: unknown,
): Plan | null {
  const expected = withValue(data, path, value);
  if (isDeepStrictEqual(valueAt(data, path), value)) return null;
  const { start, end } = holder.value;
  const inner = innerSpace(text, start, end);
  const rest = path.slice(holder.path.length);
  const pairs = inlinePairs(text, start);
  const same = pairs.find(({ path: own }) => startsWith(own, rest.slice(0, 1)));
  if (same !== undefined) {
    const deeper = { ...same, path: [...holder.path, ...same.path] };
    if (same.path.length < rest.length && text[same.value.start] === '{')
      return setInline(text, deeper, path, value, data);
    if (same.path.length !== rest.length || !startsWith(same.path, rest))
      throw new EditRefused('wrong_type', `${quoted(path.slice(0, -1))} must be a table`, same.value.start);
    const old = text.slice(same.value.start, same.value.end);
    return {
      changes: [{ at: same.value.start, remove: old, insert: inlineTable(value, inner) }],
      expected,
      own: [old],
    };
  }
  const [key, ...deeper] = rest as [string, ...string[]];
  const item = `${tomlKey(key)} = ${inlineTable(nested(deeper, value) as Table, inner)}`;
  const last = pairs.at(-1);
  if (last === undefined) {
    const inside = text.slice(start + 1, end - 1);
    return { changes: [{ at: start + 1, remove: inside, insert: inner + item + inner }], expected };
  }
  const changes = placeAfter(
    { text, end: last.value.end, commentEnd: (offset) => tomlComment(text, offset) },
    {
      gap: ' ',
      ownLine: beginsLine(text, last.start) ? indentOf(text, last.start) : null,
      forced: `${indentOf(text, last.start)}  `,
    },
    item,
  );
  return { changes, expected };
}

function removeInline(text: string, holder: Statement, path: readonly string[]): Change {
  const rest = path.slice(holder.path.length);
  const pairs = inlinePairs(text, holder.value.start);
  const index = pairs.findIndex(({ path: own }) => startsWith(own, rest.slice(0, own.length)));
  const pair = pairs[index] as Statement;
  if (pair.path.length < rest.length)
    return removeInline(text, { ...pair, path: [...holder.path, ...pair.path] }, path);
  const before = pairs[index - 1];
  const after = pairs[index + 1];
  const from = after === undefined && before !== undefined ? before.value.end : pair.start;
  const to = after === undefined ? pair.value.end : after.start;
  const [begin, end] =
    before === undefined && after === undefined ? [holder.value.start + 1, holder.value.end - 1] : [from, to];
  return { at: begin, remove: text.slice(begin, end), insert: '' };
}
