import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { configPath, loadConfig } from '../../config/load.ts';
import { WraptoolError } from '../../errors.ts';
import { upstreamState } from '../../gateway/upstreams.ts';
import { isAllowed } from '../../proxy/catalog.ts';
import { acceptPin, readPins, type Pin } from '../../proxy/pin.ts';
import { escapeHostile } from '../hostile.ts';
import { note, printJson, printLine, table } from '../voice.ts';

type Flags = { readonly config?: string; readonly json?: boolean; readonly sha256?: string };

export function register(program: Command): void {
  const mcp = program
    .command('mcp')
    .description('upstream MCP servers: what is pinned, and what was changed since');
  const command = (name: string, text: string) =>
    mcp
      .command(name)
      .description(text)
      .option('--config <file>', 'the config file')
      .option('--json', 'as JSON');
  command('list', 'list the allowed tools and their pins').action(list);
  command('show <server> <tool>', 'show the definition of a tool as pinned, and as offered now').action(show);
  command('accept <server> <tool>', 'take the definition that the server offers now for the pinned one')
    .option('--sha256 <digest>', 'only if it is the one with this digest, as `show` gives it')
    .action(accept);
}

async function place(flags: Flags) {
  const env = process.env;
  const { config } = await loadConfig({ path: flags.config, env });
  return { servers: config.mcp_servers, state: upstreamState(env, configPath({ path: flags.config, env })) };
}

async function list(flags: Flags): Promise<void> {
  const { servers, state } = await place(flags);
  const rows: { server: string; tool: string; state: string; since: string | null }[] = [];
  for (const [server, config] of Object.entries(servers))
    for (const tool of config.allow.filter((name) => isAllowed(config, name))) {
      const { pin, offered } = await readPins(state, server, tool);
      rows.push({ server, tool, state: stateOf(config.pin, pin, offered), since: pin?.since ?? null });
    }
  if (flags.json) return printJson(rows);
  if (rows.length === 0) return note('no tool of an upstream server is allowed');
  printLine(
    table([
      ['SERVER', 'TOOL', 'STATE', 'SINCE'],
      ...rows.map((row) => [row.server, row.tool, row.state, row.since ?? '']),
    ]),
  );
}

function stateOf(pins: boolean, pin: Pin | null, offered: Pin | null): string {
  if (!pins) return 'not pinned';
  if (offered !== null) return 'changed: hidden';
  return pin === null ? 'not seen yet' : 'pinned';
}

async function show(server: string, tool: string, flags: Flags): Promise<void> {
  const { state } = await place(flags);
  const pins = await readPins(state, server, tool);
  if (flags.json) return printJson(pins);
  if (pins.pin === null && pins.offered === null)
    throw new WraptoolError('usage', `"${tool}" of "${server}" was not seen yet`, {
      hint: 'a tool is pinned when its server first lists it; wraptool mcp list shows all',
    });
  for (const [title, pin] of [
    ['pinned', pins.pin],
    ['offered now, hidden', pins.offered],
  ] as const)
    if (pin !== null) print(title, pin);
}

/** A definition is a server's text: shown escaped. */
function print(title: string, { sha256, since, definition }: Pin): void {
  printLine(`${title}, sha256 ${sha256}, since ${since}`);
  printLine(
    JSON.stringify(definition, null, 2)
      .split('\n')
      .map((line) => `  ${escapeHostile(line)}`)
      .join('\n'),
  );
}

async function accept(server: string, tool: string, flags: Flags): Promise<void> {
  const { state } = await place(flags);
  const { pin, offered } = await readPins(state, server, tool);
  const digest = offered === null ? undefined : (flags.sha256 ?? (await confirmed(pin, offered)));
  await acceptPin(state, server, tool, digest);
  if (flags.json) return printJson({ server, tool, sha256: digest });
  printLine(`"${tool}" of "${server}" is offered again with its next listing`);
}

/** The digest of what the operator saw and agreed to. */
async function confirmed(pin: Pin | null, offered: Pin): Promise<string> {
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new WraptoolError('usage', 'there is no terminal to ask on, and no --sha256', {
      hint: 'wraptool mcp show SERVER TOOL gives the digest of what is offered now',
    });
  if (pin !== null) print('pinned', pin);
  print('offered now, hidden', offered);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await lines.question('accept what is offered now? [y/N] ');
    if (/^y(es)?$/i.test(answer.trim())) return offered.sha256;
  } finally {
    lines.close();
  }
  throw new WraptoolError('usage', 'not accepted', { hint: 'the tool stays hidden' });
}
