/** The registered tools with what each program's own help says of them; names, schemas and rules stay as they are. */
import type { Help, HelpFlag } from '../introspect/help/types.ts';
import type { Active } from './active.ts';
import type { ToolDescription } from './core.ts';
import type { HelpReader } from './help.ts';
import type { Offered } from './offered.ts';
import type { Registered, Registry } from './registry.ts';

export type ReadHelp = (tool: string) => Promise<Help | null>;

/** A list waits so long for programs to print their help, once: what comes later is in the next list after a reload. */
const listPatienceMs = 3000;

export type Describing = {
  /** Before the first list: whoever lists sees the tools described. */
  first(): Promise<void>;
  /** Of a reload: as the first was, if there was one. */
  again(active: Active): Promise<Active>;
};

export function createDescribing(
  current: { active: Active },
  help: HelpReader,
  offered: Offered,
): Describing {
  let done: Promise<void> | null = null;
  const describe = (active: Active) => describeActive(active, help.within(active, listPatienceMs));
  return {
    first: () =>
      (done ??= (async () => {
        const before = current.active;
        const after = await describe(before);
        if (current.active !== before) return;
        current.active = after;
        offered.settle();
      })()),
    again: async (active) => (done === null ? active : await describe(active)),
  };
}

/** `active` with described tools. */
async function describeActive(active: Active, readHelp: ReadHelp): Promise<Active> {
  const { registry, scrub } = active;
  const names = new Set(registry.tools.map(({ name }) => registry.find(name)).flatMap((one) => toolOf(one)));
  const helps = new Map(
    await Promise.all([...names].map(async (name) => [name, await readHelp(name)] as const)),
  );
  const tools = registry.tools.map((tool) => {
    const registered = registry.find(tool.name);
    const help = registered?.kind === 'cli' ? helps.get(registered.tool) : undefined;
    return registered?.kind === 'cli' && help ? described(tool, registered.subcommand, help, scrub) : tool;
  });
  const better: Registry = { tools, find: (name) => registry.find(name) };
  return Object.freeze({ ...active, registry: better });
}

function toolOf(registered: Registered | undefined): string[] {
  return registered?.kind === 'cli' ? [registered.tool] : [];
}

function described(
  tool: ToolDescription,
  subcommand: readonly string[],
  help: Help,
  scrub: (text: string) => string,
): ToolDescription {
  if (subcommand.length === 0) return withFlags(tool, help.flags, scrub);
  const [word = ''] = subcommand;
  const line =
    subcommand.length === 1 && Object.hasOwn(help.subcommands, word) ? help.subcommands[word]! : '';
  // In quotation marks: it is the program's word and not the gateway's.
  return line === ''
    ? tool
    : { ...tool, description: `${tool.description} Its help says: "${scrub(line)}".` };
}

type Schema = { readonly [key: string]: unknown };

function withFlags(
  tool: ToolDescription,
  flags: readonly HelpFlag[],
  scrub: (text: string) => string,
): ToolDescription {
  const { properties } = tool.inputSchema as { properties: Record<string, Schema> };
  const { flags: schema } = properties;
  if (schema === undefined) return tool;
  const listed = Object.entries(schema['properties'] as Record<string, Schema>);
  const said = new Map(
    flags.flatMap(({ long, short, description }) =>
      [long, short].map((name) => [name, description] as const),
    ),
  );
  const better = listed.map(([name, one]) => {
    const line = said.get(name) ?? '';
    if (line === '') return [name, one] as const;
    const before = typeof one['description'] === 'string' ? `${one['description']}; ` : '';
    return [name, { ...one, description: `${before}${scrub(line)}` }] as const;
  });
  const described = { ...schema, properties: Object.fromEntries(better) };
  return {
    ...tool,
    inputSchema: { ...tool.inputSchema, properties: { ...properties, flags: described } },
  };
}
