/** Takes an entry out of a JSON or JSONC file again, when the file is no longer what was written. */
import { removeItem } from './flow-remove.ts';
import { onlyMember } from './jsonc.ts';
import { jsonValue, readJson, type JsonDocument, type JsonMember, type JsonNode } from './json-read.ts';
import type { ObjectNode } from './json-style.ts';
import { withoutValue, type Plan } from './plan.ts';
import type { Grammar } from './types.ts';

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
  let depth = path.length - 1;
  while (depth > path.length - 1 - made && depth > 0 && holdsOnly(comments, nodes[depth] as ObjectNode))
    depth -= 1;
  const holder = nodes[depth] as ObjectNode;
  const member = onlyMember(holder, path[depth] as string) as JsonMember;
  const changes = removeItem({
    text,
    commentEnd: (offset) => comments.get(offset) ?? null,
    within: holder,
    items: holder.members,
    index: holder.members.indexOf(member),
  });
  return {
    changes,
    expected: withoutValue(root === null ? {} : jsonValue(root), path.slice(0, depth + 1)),
    own: changes.map(({ remove }) => remove),
  };
}

/** Whether the object has one member and, outside that member, neither comments nor anything else. */
function holdsOnly(comments: JsonDocument['comments'], node: ObjectNode): boolean {
  const [member, second] = node.members;
  return (
    member !== undefined &&
    second === undefined &&
    [...comments.keys()].every(
      (at) => at < node.start || at > node.end || (at > member.start && at < member.end),
    )
  );
}
