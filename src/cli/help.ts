/** The first page of help. Written without commander, which costs as much as half of Node's own start. */
import { commandTable } from './table.ts';

const options = {
  '--quiet': 'say nothing but errors',
  '--verbose': 'say more',
  '-V, --version': 'output the version number',
  '-h, --help': 'display help for command',
} as const;

export function firstPage(): string {
  const commands = Object.entries(commandTable).map(([name, { summary }]) => [name, summary] as const);
  return `Usage: wraptool [options] [command]

Runs an AI coding agent in a container without credentials; a gateway on the
host offers it, over MCP, exactly the host commands that you allowed.

Options:
${rows(Object.entries(options))}

Commands:
${rows([...commands, ['help [command]', 'display help for command']])}
`;
}

function rows(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, text]) => `  ${name.padEnd(14)}  ${text}`).join('\n');
}
