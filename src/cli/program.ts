/** The command table. Only the command that is asked for is loaded, so that start-up stays cheap. */
import { readFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { WraptoolError, errorCodes } from '../errors.ts';
import { printError, setQuiet } from './voice.ts';

type Entry = { readonly summary: string; readonly load: () => Promise<{ register(program: Command): void }> };

export const commandTable: Readonly<Record<string, Entry>> = {
  up: {
    summary: 'run a harness in a container, wired to its gateway',
    load: () => import('./commands/up.ts'),
  },
  ps: { summary: 'list sessions, and reclaim what dead ones left', load: () => import('./commands/ps.ts') },
  down: { summary: 'end a session', load: () => import('./commands/down.ts') },
  init: { summary: 'write a commented starter config', load: () => import('./commands/init.ts') },
  policy: { summary: 'test calls against the policy', load: () => import('./commands/policy.ts') },
  config: { summary: 'check and explain the config', load: () => import('./commands/config.ts') },
  serve: { summary: 'run a gateway alone', load: () => import('./commands/serve.ts') },
  mcp: { summary: 'pins of upstream MCP servers', load: () => import('./commands/mcp.ts') },
  log: { summary: 'read and verify the log', load: () => import('./commands/log.ts') },
  harness: { summary: 'list, show and install harnesses', load: () => import('./commands/harness.ts') },
  scrub: { summary: 'redact secrets in what is read from stdin', load: () => import('./commands/scrub.ts') },
};

export async function version(): Promise<string> {
  const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(file) as { version: string }).version;
}

function bare(): Command {
  return new Command('wraptool')
    .description(
      'Runs an AI coding agent in a container without credentials; a gateway on the host offers it, over MCP, exactly the host commands that you allowed.',
    )
    .option('--quiet', 'say nothing but errors')
    .option('--verbose', 'say more')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
}

/** Parses argv, runs the command and returns the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  const json = wantsJson(argv);
  try {
    if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
      process.stdout.write(`${await version()}\n`);
      return 0;
    }
    setQuiet(argv.includes('--quiet'));
    const program = bare().version(await version(), '-V, --version');
    const name = argv.find((word) => !word.startsWith('-'));
    const entry = name === undefined || !Object.hasOwn(commandTable, name) ? undefined : commandTable[name];
    if (entry) (await entry.load()).register(program);
    else
      for (const [word, { summary }] of Object.entries(commandTable))
        program.command(word, '').description(summary);
    inheritOutput(program);
    if (!entry && name !== undefined && name !== 'help') throw unknownCommand(name);
    if (argv.length === 0) {
      process.stdout.write(program.helpInformation());
      return 0;
    }
    await program.parseAsync([...argv], { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      const message = error.message.replace(/^error: /, '').replaceAll("'", '"');
      return printError(new WraptoolError('usage', message, { hint: usageHint(argv) }), { json });
    }
    return printError(error, { json, ...exitFor(argv, error) });
  }
}

/** Subcommands made by `register` share the program's way of ending and of speaking. */
function inheritOutput(command: Command): void {
  for (const child of command.commands) {
    child.exitOverride().configureOutput({ writeErr: () => undefined });
    inheritOutput(child);
  }
}

/** `--json` counts only before `--`: what follows belongs to the harness or to the call under test. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** `up` and `exec` leave 1 to 124 to the harness: what fails before it ran is 125, usage and config stay 2. */
function exitFor(argv: readonly string[], error: unknown): { exit?: number } {
  const name = argv.find((word) => !word.startsWith('-'));
  if (name !== 'up' && name !== 'exec') return {};
  return error instanceof WraptoolError && errorCodes[error.code].exit === 2 ? {} : { exit: 125 };
}

function usageHint(argv: readonly string[]): string {
  const name = argv.find((word) => !word.startsWith('-'));
  return name !== undefined && Object.hasOwn(commandTable, name)
    ? `see wraptool ${name} --help`
    : 'see wraptool --help';
}

function unknownCommand(name: string): WraptoolError {
  const near = Object.keys(commandTable).find((word) => word.startsWith(name.slice(0, 2)));
  return new WraptoolError('usage', `unknown command "${name}"`, {
    hint: near === undefined ? 'see wraptool --help' : `did you mean "${near}"? see wraptool --help`,
  });
}
