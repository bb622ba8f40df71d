/** `wraptool introspect`: the subcommands and flags that a program's own help lists. */
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { WraptoolError } from '../../errors.ts';
import { parseHelp } from '../../introspect/help/parse.ts';
import { maxText } from '../../introspect/help/text.ts';
import type { Help, HelpFlag } from '../../introspect/help/types.ts';
import { escapeHostile } from '../hostile.ts';
import { printJson, printLine, table } from '../voice.ts';

type Flags = { readonly config?: string; readonly stdin?: boolean; readonly json?: boolean };

export function register(program: Command): void {
  program
    .command('introspect')
    .description('show the subcommands and flags that the help of a tool lists')
    .argument('[tool]', 'a tool of the config')
    .option('--config <file>', 'the config file')
    .option('--stdin', 'read a help text from stdin, and run nothing')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
The tool is run confined, without network, terminal or HOME, with --help or what is known of it; "help_argv" in the
config names other arguments. What it lists is a description and allows nothing.
`,
    )
    .action(async (tool: string | undefined, flags: Flags) => {
      const help = await readHelp(tool, flags);
      if (flags.json) printJson(help);
      else printLine(inWords(help));
    });
}

async function readHelp(tool: string | undefined, flags: Flags): Promise<Help> {
  if (flags.stdin === true) {
    if (tool !== undefined)
      throw new WraptoolError('usage', 'a tool and --stdin cannot go together', {
        hint: 'leave one of them out',
      });
    return parseHelp(await readText(process.stdin));
  }
  if (tool !== undefined) return await runTool(tool, flags);
  throw new WraptoolError('usage', 'there is no tool to introspect', {
    hint: 'name one of the config, or give a text with --stdin',
  });
}

/** As much as the parser reads; the rest is taken, so that what writes it may end. */
async function readText(input: Readable): Promise<string> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    // A character has at most four bytes.
    if (size < maxText * 4) kept.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(kept).toString('utf8');
}

async function runTool(name: string, flags: Flags): Promise<Help> {
  const { env } = process;
  const { startSpawner } = await import('../../executor/spawner.ts');
  // Forked now, while this process is small.
  const spawner = startSpawner();
  try {
    const { loadConfig } = await import('../../config/load.ts');
    const { resolveBinary } = await import('../../executor/binary.ts');
    const { createIntrospector } = await import('../../introspect/introspect.ts');
    const { cacheDir, homeDir } = await import('../../paths.ts');
    const { config } = await loadConfig({ path: flags.config, env });
    const tool = Object.hasOwn(config.tools, name) ? config.tools[name] : undefined;
    if (tool === undefined)
      throw new WraptoolError('usage', `there is no tool "${name}" in the config`, {
        hint: `known are ${Object.keys(config.tools).toSorted().join(', ') || 'none'}`,
      });
    const introspector = createIntrospector({
      spawner,
      cacheDir: path.join(cacheDir(env), 'introspect'),
      home: homeDir(env),
    });
    const binary = await resolveBinary(tool.binary, config.mcp.allowed_cwd_roots);
    return await introspector.read({ name, binary, configured: tool.binary, helpArgv: tool.help_argv });
  } finally {
    await spawner.close();
  }
}

function inWords({ subcommands, flags }: Help): string {
  const commands = Object.entries(subcommands);
  const parts = [
    ...section(
      'subcommands',
      commands.map(([name, description]) => [name, description]),
    ),
    ...section(
      'flags',
      flags.map((flag) => [namesOf(flag), flag.description]),
    ),
  ];
  return parts.length === 0 ? 'the help lists neither subcommands nor flags' : parts.join('\n');
}

function section(title: string, rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  return [
    title,
    table(rows.map((row) => row.map((cell, at) => `${at === 0 ? '  ' : ''}${escapeHostile(cell)}`))),
  ];
}

function namesOf({ short, long, value }: HelpFlag): string {
  const names = [short, long].filter((name) => name !== null).join(', ');
  return `${names}${{ none: '', required: '=VALUE', optional: '[=VALUE]' }[value]}`;
}
