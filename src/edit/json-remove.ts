/** Takes an entry out of a JSON or JSONC file again, when the file is no longer what was written. */
import { onlyMember } from './jsonc.ts';
import { jsonValue, readJson, type JsonDocument, type JsonMember, type JsonNode } from './json-read.ts';
import { placeOf, type ObjectNode } from './json-style.ts';
import { endBefore, isBlank, lineEnd, lineStart } from './lines.ts';
import { withoutValue, type Plan } from './plan.ts';
import type { Change, Grammar } from './types.ts';

type Context = { readonly text: string; readonly comments: JsonDocument['comments'] };

/**
 * Removes what is at `path`, and of the objects around it the inmost `made` ones if nothing else, not even a comment,
 * is in them. Null where there is nothing to remove.
 */
export function removeJson(
  text: string,
  path: readonly string[],
  made: number,
  grammar: Grammar,
): Plan | null {
  const { root, comments } = readJson(text, grammar);
  const nodes: ObjectNode[] = [];
  let node: JsonNode | null = root;
  for (const key of path) {
    if (node?.type !== 'object') return null;
    nodes.push(node);
    node = onlyMember(node, key)?.value ?? null;
  }
  if (node === null) return null;
  const context = { text, comments };
  let depth = path.length - 1;
  while (depth > path.length - 1 - made && depth > 0 && holdsOnly(context, nodes[depth] as ObjectNode))
    depth -= 1;
  const holder = nodes[depth] as ObjectNode;
  const member = onlyMember(holder, path[depth] as string) as JsonMember;
  const changes = removeMember(context, holder, member);
  return {
    changes,
    expected: withoutValue(root === null ? {} : jsonValue(root), path.slice(0, depth + 1)),
    own: changes.map(({ remove }) => remove),
  };
}

/** Whether the object has one member and, outside that member, neither comments nor anything else. */
function holdsOnly({ comments }: Context, node: ObjectNode): boolean {
  const [member, second] = node.members;
  return (
    member !== undefined &&
    second === undefined &&
    [...comments.keys()].every(
      (at) => at < node.start || at > node.end || (at > member.start && at < member.end),
    )
  );
}

function removeMember(context: Context, node: ObjectNode, member: JsonMember): Change[] {
  const { text } = context;
  const index = node.members.indexOf(member);
  const before = node.members[index - 1];
  const after = node.members[index + 1];
  if (before === undefined && after === undefined && holdsOnly(context, node))
    return [removal(text, node.start + 1, node.end - 1)];
  const place = placeOf(text, member.start);
  const ownComma = commaAfter(context, member.end);
  const priorComma = before === undefined ? null : commaAfter(context, before.end);
  // With leading commas the one before goes with the line; else our own does, and where there is none the one before.
  const comma = place.kind === 'leading' ? priorComma : (ownComma ?? priorComma);
  const end =
    comma !== null && comma >= member.end && isBlank(text.slice(member.end, comma)) ? comma + 1 : member.end;
  const [from, to] = extent(context, node, member, end, after);
  const within = comma === null || (comma >= from && comma < to);
  return [...(within ? [] : [removal(text, comma, comma + 1)]), removal(text, from, to)];
}

/** From where to where text goes, when `member` and what follows it up to `end` do. */
function extent(
  { text, comments }: Context,
  node: ObjectNode,
  member: JsonMember,
  end: number,
  after: JsonMember | undefined,
): [number, number] {
  const line = lineEnd(text, end);
  const begin = lineStart(text, member.start);
  const restBlank = isBlank(text.slice(end, line.content));
  if (placeOf(text, member.start).kind !== 'inline') {
    if (restBlank && line.broken) return [begin, line.next];
    if (after !== undefined && after.start < line.content) return [member.start, after.start];
    const commented = /^[ \t]*\/[/*]/.exec(text.slice(end, line.content));
    if (commented) return [member.start, end + commented[0].length - 2];
    return [Math.max(node.start + 1, endBefore(text, begin)), end];
  }
  if (after !== undefined && isBlank(text.slice(end, after.start))) return [member.start, after.start];
  let from = member.start;
  while (/[ \t]/.test(text[from - 1] ?? '') && from - 1 > node.start) from -= 1;
  const commentBefore = [...comments.values()].includes(from);
  const prior = commaBefore(text, from);
  return [prior !== null && !commentBefore && end === member.end ? prior : from, end];
}

function commaBefore(text: string, offset: number): number | null {
  return text[offset - 1] === ',' ? offset - 1 : null;
}

function commaAfter({ text, comments }: Context, offset: number): number | null {
  for (let at = offset; ;) {
    const comment = comments.get(at);
    if (comment !== undefined) at = comment;
    else if (text[at] === ',') return at;
    else if (isBlank(text[at] ?? '}')) at += 1;
    else return null;
  }
}

function removal(text: string, from: number, to: number): Change {
  return { at: from, remove: text.slice(from, to), insert: '' };
}
