/** Finds where an entry goes in a TOML file: as a table at its end, or into an inline table. What is written is TOML 1.0. */
import { isDeepStrictEqual } from 'node:util';
import { insertion, placeAfter } from './flow.ts';
import { beginsLine, indentOf, isBlank, lastBreak, lineEnd, lineStart } from './lines.ts';
import { nested, quoted, withValue, type Plan } from './plan.ts';
import { EditRefused } from './refuse.ts';
import { entryParts, inlineHolder, startsWith, valueAt } from './toml-find.ts';
import { inlinePairs, readTomlValue, statements, tomlComment, type Statement } from './toml-read.ts';
import { removeParts } from './toml-remove.ts';
import { inlineTable, tableLines, tomlKey, tomlPath, type Table } from './toml-style.ts';
import type { Change, Json } from './types.ts';

/** Puts the table `value` at `path`; null where it says the same already. */
export function setToml(text: string, path: readonly string[], value: Json): Plan | null {
  const data = readTomlValue(text);
  const found = statements(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new EditRefused('wrong_type', `${quoted(path)} must be a table`);
  const table = value as Table;
  if (isDeepStrictEqual(valueAt(data, path), value)) return null;
  const holder = inlineHolder(text, found, path);
  if (holder === null) checkContainers(found, path);
  const changes =
    holder === null ? setTable(text, found, path, table) : [...setInline(text, holder, path, table)];
  return { changes, expected: withValue(data, path, value), own: changes.map(({ remove }) => remove) };
}

function checkContainers(found: readonly Statement[], path: readonly string[]): void {
  for (const { kind, path: own, start, value } of found) {
    if (!startsWith(path, own)) continue;
    if (kind === 'array' || (kind === 'pair' && own.length < path.length))
      throw new EditRefused(
        'wrong_type',
        `${quoted(own)} must be a table`,
        kind === 'pair' ? value.start : start,
      );
  }
}

function setTable(
  text: string,
  found: readonly Statement[],
  path: readonly string[],
  table: Table,
): Change[] {
  const parts = entryParts(found, path);
  const whole = parts.find(({ path: own }) => own.length === path.length);
  const first = whole ?? parts[0];
  if (first === undefined) return [appendTable(text, path, table)];
  if (first.kind === 'pair') {
    const others = parts.filter((part) => part !== first);
    return [replacePair(text, first, path, table), ...removeParts(text, found, others)];
  }
  return replaceTable(text, found, parts, first, first === whole ? null : path, table);
}

/** At the end of the file, after one blank line: a header is absolute, whatever stands before it. */
function appendTable(text: string, path: readonly string[], table: Table): Change {
  const broken = text === '' || lineEnd(text, text.length).broken;
  const eol = lastBreak(text);
  const lastLine = text.slice(lineStart(text, broken ? text.length - 1 : text.length));
  const blank = isBlank(lastLine) ? [] : [''];
  const lines = [...blank, `[${tomlPath(path)}]`, ...tableLines(table)];
  return insertion(text.length, lines.map((line) => (broken ? line + eol : eol + line)).join(''));
}

/** An inline value in place; the first of several dotted pairs becomes an inline value. */
function replacePair(text: string, pair: Statement, path: readonly string[], table: Table): Change {
  const { start, end } = pair.value;
  const written = inlineTable(table, innerSpace(text, start, end));
  if (pair.path.length === path.length) return { at: start, remove: text.slice(start, end), insert: written };
  const relative = path.slice(pair.path.length - pair.written);
  return {
    at: pair.start,
    remove: text.slice(pair.start, end),
    insert: `${tomlPath(relative)} = ${written}`,
  };
}

/** The lines between the header and the table’s last pair give way to the new ones, the header of a sub-table too; other parts go. */
function replaceTable(
  text: string,
  found: readonly Statement[],
  parts: readonly Statement[],
  header: Statement,
  renamed: readonly string[] | null,
  table: Table,
): Change[] {
  const index = found.indexOf(header);
  const next = found.findIndex(({ kind }, at) => at > index && kind !== 'pair');
  const body = found.slice(index, next === -1 ? undefined : next);
  const from =
    renamed === null
      ? lineEnd(text, header.value.end)
      : { next: lineStart(text, header.start), broken: true };
  const to = lineEnd(text, (body.at(-1) as Statement).value.end);
  const lines = [...(renamed === null ? [] : [`[${tomlPath(renamed)}]`]), ...tableLines(table)];
  const joined = lines.join(to.eol);
  const insert = to.broken
    ? lines.length > 0
      ? joined + to.eol
      : ''
    : from.broken
      ? joined
      : to.eol + joined;
  const others = parts.filter((part) => !body.includes(part));
  return [
    { at: from.next, remove: text.slice(from.next, to.next), insert },
    ...removeParts(text, found, others),
  ];
}

/** White space inside the braces of an inline table; of an empty one, a space. */
function innerSpace(text: string, start: number, end: number): string {
  const found = /^\{([ \t]*)[^ \t}]/.exec(text.slice(start, end));
  return found?.[1] ?? ' ';
}

function setInline(text: string, holder: Statement, path: readonly string[], value: Table): Change[] {
  const { start, end } = holder.value;
  const inner = innerSpace(text, start, end);
  const rest = path.slice(holder.path.length);
  const pairs = inlinePairs(text, start);
  const same = pairs.find(({ path: own }) => startsWith(own, rest.slice(0, 1)));
  if (same !== undefined) {
    if (same.path.length < rest.length && text[same.value.start] === '{')
      return setInline(text, { ...same, path: [...holder.path, ...same.path] }, path, value);
    if (same.path.length !== rest.length || !startsWith(same.path, rest))
      throw new EditRefused('wrong_type', `${quoted(path.slice(0, -1))} must be a table`, same.value.start);
    const old = text.slice(same.value.start, same.value.end);
    return [{ at: same.value.start, remove: old, insert: inlineTable(value, inner) }];
  }
  const [key, ...deeper] = rest as [string, ...string[]];
  const item = `${tomlKey(key)} = ${inlineTable(nested(deeper, value) as Table, inner)}`;
  const last = pairs.at(-1);
  if (last === undefined)
    return [{ at: start + 1, remove: text.slice(start + 1, end - 1), insert: inner + item + inner }];
  return placeAfter(
    { text, end: last.value.end, commentEnd: (offset) => tomlComment(text, offset) },
    {
      gap: ' ',
      ownLine: beginsLine(text, last.start) ? indentOf(text, last.start) : null,
      forced: `${indentOf(text, last.start)}  `,
    },
    item,
  );
}
