/** `wraptool_discover`: what is allowed, and what could be asked for. */
import { registeredName } from '../proxy/names.ts';
import type { ServerStatus } from '../proxy/types.ts';
import { describeTools } from '../policy/structured.ts';
import type { Active } from './active.ts';
import type { ToolResult } from './core.ts';
import { jsonResult } from './results.ts';

export const discoverTool = {
  name: 'wraptool_discover',
  description:
    'Lists the host tools (and MCP servers) with the subcommands that are allowed now (an empty name is the tool without a subcommand) and those that could be requested with wraptool_request_capability. Grants nothing.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: true },
} as const;

const nothing = 'no allow rules: nothing is callable yet — request one of the available subcommands';

type Entry = { allowed: string[]; available: Record<string, string>; note?: string };

/** Per tool: allowed subcommands, known ones that aren't, and a note where nothing is allowed. */
export function discover(
  { snapshot: { config }, listed }: Pick<Active, 'snapshot' | 'listed'>,
  servers: readonly ServerStatus[],
  scrub: (text: string) => string,
): ToolResult {
  const allowed = new Map<string, Set<string>>();
  for (const { tool, subcommand } of describeTools(listed)) {
    const words = allowed.get(tool) ?? new Set();
    allowed.set(tool, words.add(subcommand.join(' ')));
  }
  const tools: Record<string, Entry> = {};
  for (const tool of Object.keys(config.tools).toSorted()) {
    const words = [...(allowed.get(tool) ?? [])].toSorted();
    tools[tool] = { allowed: words, available: {}, ...(words.length === 0 ? { note: nothing } : {}) };
  }
  const upstream = Object.fromEntries(servers.map((status) => [status.server, aboutServer(status, scrub)]));
  return jsonResult(servers.length === 0 ? { tools } : { tools, mcp_servers: upstream });
}

/** `allowed` are names to call; a note says why there are fewer than the operator named. */
function aboutServer(
  { server, state, tools, hidden, missing, lastError }: ServerStatus,
  scrub: (text: string) => string,
): { allowed: string[]; state: string; note?: string } {
  const notes = [
    ...(state === 'failed' && lastError !== null ? [`the server ${scrub(lastError)}`] : []),
    ...hidden.map(({ tool, detail }) => `${tool} is hidden: ${detail}`),
    ...missing.map((tool) => `${tool} is allowed, but the server has no such tool`),
  ];
  return {
    allowed: tools.map((tool) => registeredName(server, tool)),
    state,
    ...(notes.length === 0 ? {} : { note: notes.join('; ') }),
  };
}
