/** Finds where an entry goes in a JSON or JSONC file, and how it is written there. */
import { insertion, placeAfter } from './flow.ts';
import { jsonValue, readJson, type JsonDocument, type JsonMember } from './json-read.ts';
import {
  afterComments,
  compact,
  inlineStyle,
  placeOf,
  pretty,
  unitOf,
  type ObjectNode,
} from './json-style.ts';
import { indentOf, isBlank, lineEnd, lineEndAt } from './lines.ts';
import { isDeepStrictEqual } from 'node:util';
import { nested, quoted, withValue, type Plan } from './plan.ts';
import { EditRefused } from './refuse.ts';
import type { Change, Grammar, Json } from './types.ts';

/** Everything that a place in the file is judged by. */
type Context = {
  readonly text: string;
  readonly root: ObjectNode;
  readonly comments: JsonDocument['comments'];
};

/** Puts `value` at `path`; null where it is there already, whatever its layout and order of keys. */
export function setJson(text: string, path: readonly string[], value: Json, grammar: Grammar): Plan | null {
  const { root, comments } = readJson(text, grammar);
  if (root === null)
    return { changes: [firstObject(text, nested(path, value))], expected: nested(path, value) };
  if (root.type !== 'object') throw new EditRefused('wrong_type', 'the file must hold an object', root.start);
  const context: Context = { text, root, comments };
  const expected = withValue(jsonValue(root), path, value);
  let node = root;
  for (const [index, key] of path.entries()) {
    const member = onlyMember(node, key);
    const rest = path.slice(index + 1);
    if (member === null) return { changes: addMember(context, node, key, nested(rest, value)), expected };
    if (rest.length === 0 && isDeepStrictEqual(jsonValue(member.value), value)) return null;
    if (rest.length === 0 || isNull(member)) {
      const old = text.slice(member.value.start, member.value.end);
      return { changes: [replaceValue(context, node, member, nested(rest, value))], expected, own: [old] };
    }
    if (member.value.type !== 'object')
      throw new EditRefused(
        'wrong_type',
        `${quoted(path.slice(0, index + 1))} must be an object`,
        member.value.start,
      );
    node = member.value;
  }
  throw new RangeError('a path has at least one key');
}

/** What a reader of the file sees, for the proof. */
export function readJsonValue(text: string, grammar: Grammar): unknown {
  const { root } = readJson(text, grammar);
  return root === null ? {} : jsonValue(root);
}

/** The one member of that name, or null; two are refused, since readers differ in which they take. */
export function onlyMember(node: ObjectNode, key: string): JsonMember | null {
  const [first, second] = node.members.filter((member) => member.key === key);
  if (second !== undefined) throw new EditRefused('duplicate_key', `'${key}' is there twice`, second.start);
  return first ?? null;
}

function isNull({ value }: JsonMember): boolean {
  return value.type === 'scalar' && value.value === null;
}

/** The object that follows what an otherwise empty file holds. */
function firstObject(text: string, value: Json): Change {
  const eol = lineEnd(text, text.length).eol;
  const object = pretty(value, '  ', '', eol);
  const broken = text === '' || text.endsWith('\n');
  return insertion(text.length, broken ? object + eol : eol + object);
}

function addMember(context: Context, node: ObjectNode, key: string, value: Json): Change[] {
  const { text, root, comments } = context;
  const last = node.members.at(-1);
  if (last === undefined) return fillObject(context, node, key, value);
  const place = placeOf(text, last.start);
  const style = inlineStyle(text, node, root);
  const unit = unitOf(text, node, root);
  return placeAfter(
    { text, end: last.end, commentEnd: (offset) => comments.get(offset) ?? null },
    {
      gap: style.comma,
      ownLine: place.kind === 'line' ? place.indent : null,
      leading: place.kind === 'leading' ? place.before : undefined,
      forced: indentOf(text, last.end) + unit,
    },
    place.kind === 'inline'
      ? `${JSON.stringify(key)}:${style.colon}${compact(value, style)}`
      : `${JSON.stringify(key)}: ${pretty(value, unit, place.indent, lineEnd(text, last.end).eol)}`,
  );
}

function replaceValue({ text, root }: Context, node: ObjectNode, member: JsonMember, value: Json): Change {
  const { start, end } = member.value;
  const place = placeOf(text, member.start);
  const insert =
    place.kind === 'inline'
      ? compact(value, inlineStyle(text, node, root))
      : pretty(value, unitOf(text, node, root), place.indent, lineEndAt(text, start).eol);
  return { at: start, remove: text.slice(start, end), insert };
}

/** The first member of an empty object. */
function fillObject(context: Context, node: ObjectNode, key: string, value: Json): Change[] {
  const { text, root, comments } = context;
  const indent = indentOf(text, node.start);
  const unit = unitOf(text, node, root);
  const { eol } = lineEndAt(text, node.start);
  const entry = eol + indent + unit + `${JSON.stringify(key)}: ${pretty(value, unit, indent + unit, eol)}`;
  const stay = afterComments(text, node.start + 1, comments);
  const line = lineEnd(text, stay);
  if (line.content < node.end && isBlank(text.slice(stay, line.content)))
    return [insertion(line.content, entry)];
  // Now what is left before the brace is white space, on the brace's line.
  const inner = text.slice(stay, node.end - 1);
  if (node === root || ownsLine(text, node, root))
    return [{ at: stay, remove: inner, insert: entry + eol + indent }];
  const style = inlineStyle(text, node, root);
  const inline = `${JSON.stringify(key)}:${style.colon}${compact(value, style)}`;
  return [{ at: stay, remove: inner, insert: style.brace + inline + style.brace }];
}

/** Whether the member that an object is the value of begins its line. */
function ownsLine(text: string, node: ObjectNode, within: ObjectNode): boolean {
  return within.members.some(({ start, value }) =>
    value === node
      ? placeOf(text, start).kind !== 'inline'
      : value.type === 'object' && ownsLine(text, node, value),
  );
}
