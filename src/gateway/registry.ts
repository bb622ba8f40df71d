/** Snapshot to the MCP tools of its commands: sorted, the same for every connection. */
import type { Snapshot } from '../config/types.ts';
import type { Policy } from '../policy/compile.ts';
import { describeTools, type DescribedTool } from '../policy/structured.ts';
import type { ToolDescription } from './core.ts';
import { discoverTool } from './discover.ts';
import { requestTool } from './request-capability.ts';
import { runTool } from './run.ts';

export type OwnTool = 'wraptool_discover' | 'wraptool_request_capability' | 'wraptool_run';

export type Registered =
  | { readonly kind: 'own'; readonly name: OwnTool }
  | {
      readonly kind: 'cli';
      readonly name: string;
      readonly tool: string;
      readonly subcommand: readonly string[];
    }
  | {
      readonly kind: 'upstream';
      readonly name: string;
      readonly server: string;
      readonly tool: string;
    };

export type Registry = {
  readonly tools: readonly ToolDescription[];
  find(name: string): Registered | undefined;
};

export function buildRegistry({ config, policy }: Pick<Snapshot, 'config' | 'policy'>): Registry {
  const { expose } = config.mcp;
  const registered = new Map<string, Registered>();
  const tools: ToolDescription[] = [];
  const own = [discoverTool, requestTool, ...(expose === 'tools' ? [] : [runTool])];
  for (const tool of own) {
    registered.set(tool.name, { kind: 'own', name: tool.name });
    tools.push(tool);
  }
  for (const described of expose === 'run' ? [] : describeTools(policy)) {
    const { name, description, tool, subcommand, readOnly } = described;
    registered.set(name, { kind: 'cli', name, tool, subcommand });
    tools.push({
      name,
      description,
      inputSchema: withStdin(policy, described),
      ...(readOnly ? { annotations: { readOnlyHint: true } } : {}),
    });
  }
  tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    tools,
    find: (name) => registered.get(name),
  };
}

/** `stdin` is a property of a tool's schema only where a rule takes it. */
function withStdin(
  policy: Policy,
  { tool, subcommand, inputSchema }: DescribedTool,
): DescribedTool['inputSchema'] {
  let word = policy.tools.get(tool)?.root;
  for (const step of subcommand) word = word?.next.get(step);
  if (!word?.allow.some((rule) => rule.terms.stdin)) return inputSchema;
  const properties = {
    ...(inputSchema['properties'] as object),
    stdin: { type: 'string', description: 'standard input' },
  };
  return { ...inputSchema, properties };
}
