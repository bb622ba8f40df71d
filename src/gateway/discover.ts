/** `wraptool_discover`: what is allowed, and what could be asked for. */
import type { Policy } from '../policy/compile.ts';
import { allowedSubcommands } from '../policy/structured.ts';
import { registeredName } from '../proxy/names.ts';
import type { ServerStatus } from '../proxy/types.ts';
import type { Active } from './active.ts';
import type { ToolResult } from './core.ts';
import type { ReadHelp } from './described.ts';
import { jsonResult } from './results.ts';

export const discoverTool = {
  name: 'wraptool_discover',
  description:
    'Lists the host tools (and MCP servers) with the subcommands that are allowed now (an empty name is the tool without a subcommand) and those that could be requested with wraptool_request_capability. Grants nothing.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: true },
} as const;

const nothing = 'no allow rules: nothing is callable yet — request one of the available subcommands';

/** The answer is read by a model: no tool may fill it alone. */
const maxAvailable = 500;

type Entry = { allowed: string[]; available: Record<string, string>; note?: string };

/**
 * Per tool: allowed subcommands, those of its help that could be asked for, and a note where nothing is allowed.
 * `readHelp` gives null for a tool whose help is not known.
 */
export async function discover(
  { snapshot: { config }, listed, scrub }: Active,
  readHelp: ReadHelp,
  servers: readonly ServerStatus[],
): Promise<ToolResult> {
  const names = Object.keys(config.tools).toSorted();
  const helps = await Promise.all(names.map(readHelp));
  const tools = Object.fromEntries(
    names.map(
      (tool, index) => [tool, aboutTool(listed, tool, helps[index]?.subcommands ?? {}, scrub)] as const,
    ),
  );
  const upstream = Object.fromEntries(servers.map((status) => [status.server, aboutServer(status, scrub)]));
  return jsonResult(servers.length === 0 ? { tools } : { tools, mcp_servers: upstream });
}

function aboutTool(
  policy: Policy,
  tool: string,
  listed: Readonly<Record<string, string>>,
  scrub: (text: string) => string,
): Entry {
  const allowed = allowedSubcommands(policy, tool).toSorted();
  const denied = deniedWords(policy, tool);
  const open = Object.entries(listed).filter(([name]) => !allowed.includes(name) && !denied.has(name));
  return {
    allowed,
    available: Object.fromEntries(
      open.slice(0, maxAvailable).map(([name, description]) => [scrub(name), scrub(description)]),
    ),
    ...(allowed.length === 0 ? { note: nothing } : {}),
  };
}

/** Subcommands that are denied whole: to ask for one would be refused. */
function deniedWords(policy: Policy, tool: string): ReadonlySet<string> {
  const next = policy.tools.get(tool)?.root.next ?? new Map<string, never>();
  return new Set(
    [...next].filter(([, { deny }]) => deny.some(({ everything }) => everything)).map(([name]) => name),
  );
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
