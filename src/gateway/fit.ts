/** A result in the shape that the client's model gets to see whole. */
import type { ToolResult } from './core.ts';

/**
 * Clients that give the model `structuredContent` in place of the text, by the name they say at `initialize`: with the
 * facts there, the output of a command would never reach the model. Seen with Claude Code 2.1.332 and Codex 0.171.0. Others
 * show the text alone or both (docs/harnesses.md has which).
 */
const replaceText: ReadonlySet<string> = new Set(['claude-code', 'codex-mcp-client']);

/** Where such a client finds the facts instead. */
export const factsKey = 'wraptool/facts';

/** `client` is "name/version". */
export function fitToClient(result: ToolResult, client: string): ToolResult {
  const name = client.slice(0, client.indexOf('/'));
  const { structuredContent, ...rest } = result;
  if (structuredContent === undefined || !replaceText.has(name)) return result;
  return { ...rest, _meta: { [factsKey]: structuredContent } };
}
