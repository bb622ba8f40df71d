/** PURE: what a server declares, judged against what is allowed. */
import { isObject } from './message.ts';
import { nameProblem } from './names.ts';
import type { HiddenTool, McpServerConfig, ToolDefinition } from './types.ts';

export type Filter = Pick<McpServerConfig, 'allow' | 'deny'>;

export type Catalog = {
  /** Allowed and well-formed, sorted by name. */
  readonly tools: readonly ToolDefinition[];
  readonly invalid: readonly HiddenTool[];
  /** Allowed names that are not declared. */
  readonly missing: readonly string[];
};

/** Exact names; deny wins. */
export function isAllowed({ allow, deny }: Filter, tool: string): boolean {
  return allow.includes(tool) && !deny.includes(tool);
}

/** `declared` is the server's list as it came. What is not allowed is not looked at. */
export function judgeTools(server: string, declared: readonly unknown[], filter: Filter): Catalog {
  const tools = new Map<string, ToolDefinition>();
  const invalid = new Map<string, HiddenTool>();
  for (const one of declared) {
    const name = isObject(one) ? one['name'] : undefined;
    if (typeof name !== 'string' || !isAllowed(filter, name)) continue;
    const detail = tools.has(name)
      ? 'it is declared twice'
      : definitionProblem(server, name, one as ToolDefinition);
    if (detail === null) tools.set(name, one as ToolDefinition);
    else invalid.set(name, { tool: name, reason: 'invalid', detail });
  }
  // Of two definitions under one name neither is the right one.
  for (const name of invalid.keys()) tools.delete(name);
  return {
    tools: [...tools.values()].sort(byName),
    invalid: [...invalid.values()],
    missing: filter.allow.filter((name) => isAllowed(filter, name) && !tools.has(name) && !invalid.has(name)),
  };
}

/** By code unit, the same on every machine. */
export function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** A client refuses the whole list for one malformed tool. */
function definitionProblem(server: string, name: string, tool: ToolDefinition): string | null {
  const { title, description, inputSchema, outputSchema, annotations } = tool;
  if (!isSchema(inputSchema)) return "its 'inputSchema' is no schema of an object";
  if (outputSchema !== undefined && !isSchema(outputSchema))
    return "its 'outputSchema' is no schema of an object";
  if (description !== undefined && typeof description !== 'string') return "its 'description' is no text";
  if (title !== undefined && typeof title !== 'string') return "its 'title' is no text";
  if (annotations !== undefined && !isObject(annotations)) return "its 'annotations' are no object";
  return nameProblem(server, name);
}

function isSchema(value: unknown): boolean {
  return isObject(value) && value['type'] === 'object';
}
