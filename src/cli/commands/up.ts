import type { Command } from 'commander';
import type { Inspection } from '../../devcontainer/inspect.ts';
import { WraptoolError } from '../../errors.ts';
import { programPlace } from '../../places.ts';
import type { UpOptions, UpWorld } from '../../up/options.ts';
import { up } from '../../up/run.ts';
import { describeUp } from '../../up/specify.ts';
import { ask, canAsk } from '../ask.ts';
import { callAttention } from '../attention.ts';
import { escapeHostile, escapeJson, renderArgv } from '../hostile.ts';
import { createStep, printEvent } from '../steps.ts';
import { note, printJson, printLine, warn } from '../voice.ts';

type Flags = Omit<UpOptions, 'harness' | 'args'> & { dryRun?: boolean; json?: boolean; yolo?: boolean };

export function register(program: Command): void {
  program
    .command('up')
    .description('run a harness in a container, wired to its gateway')
    .argument('<harness>', 'claude, shell, or a descriptor of your own')
    .argument('[args...]', 'arguments of the harness, after --')
    .option('--runtime <name>', 'auto, guix, devcontainer or bubblewrap')
    .option('--workspace <dir>', 'default: the top of the git work tree, else the current folder')
    .option('--name <name>', 'name of the session')
    .option('--home <name>', 'a harness home shared by several workspaces')
    .option('--config <file>', 'config file')
    .option('--devcontainer <which>', '"workspace": its own definition, after approval of its exact content')
    .option('--definition <file>', 'with --devcontainer workspace: which one, relative to the workspace')
    .option('--harness-version <version>', 'another version than the checked one')
    .option('--dry-run', 'print what would run, secrets masked')
    .option('--json', 'errors and --dry-run as JSON, progress as JSON events on stderr')
    .option('--allow-restart', 'let the operator restart its gateway: "wraptool restart NAME"')
    .option('--yolo', "use the harness's own auto-approve flag")
    .addHelpText(
      'after',
      '\nExamples:\n  wraptool up claude\n  wraptool up claude --runtime bubblewrap -- -p "run the tests"',
    )
    .action(async (harness: string, args: string[], flags: Flags) => {
      process.title = 'wraptool-up';
      const options: UpOptions = { ...flags, harness, args, yolo: flags.yolo ?? false };
      if (flags.dryRun) await dryRun(options, flags.json ?? false);
      else process.exitCode = await withConfig(options, () => up(options, world(flags.json ?? false)));
    });
}

async function dryRun(options: UpOptions, json: boolean): Promise<void> {
  const description = await describeUp(options, world(json));
  if (json) return printJson(description);
  for (const entry of description) {
    printLine(escapeHostile(entry.what) + (entry.argv === undefined ? '' : `: ${renderArgv(entry.argv)}`));
    if (entry.detail !== undefined) printLine(indented(entry.detail));
  }
}

function indented(detail: unknown): string {
  const lines = JSON.stringify(detail, null, 2).split('\n');
  return lines.map((line) => `  ${escapeJson(line)}`).join('\n');
}

function world(json: boolean): UpWorld {
  return {
    env: process.env,
    cwd: process.cwd(),
    main: programPlace('main'),
    step: createStep({ quiet: process.argv.includes('--quiet'), json }),
    note: json ? (text) => printEvent({ event: 'note', text }) : note,
    warn: json ? (text) => printEvent({ event: 'warning', text }) : warn,
    attention: (id) => callAttention(process.stderr, id),
    ask: canAsk() ? ask : null,
    approve: canAsk() ? showAndApprove : null,
    stdio: 'inherit',
    admin: async (about) => {
      const { startAdmin } = await import('../admin-page.ts');
      const page = await startAdmin({ ...about, env: process.env, fault: (error) => warn(String(error)) });
      return page && { link: page.invite('operator').url, close: () => page.close() };
    },
  };
}

/** The whole definition is loaded only where it is needed. */
async function showAndApprove(found: Inspection): Promise<boolean> {
  const { approveOnTerminal } = await import('./devcontainer.ts');
  return approveOnTerminal(found);
}

/** Without a config: offers to write the starter on a terminal, then goes on; elsewhere the error stands. */
async function withConfig(options: UpOptions, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    const offer =
      error instanceof WraptoolError && error.code === 'config_missing' && options.config === undefined;
    if (!offer || !canAsk()) throw error;
    if (!(await ask('there is no config yet: write a starter with read-only git rules?'))) throw error;
    const { init } = await import('./init.ts');
    await init({ env: process.env });
    return run();
  }
}
