/** From argv to an exit code. What most starts don't need is loaded late. */
import { WraptoolError, errorCodes } from '../errors.ts';
import { firstPage } from './help.ts';
import { commandTable, entryOf } from './table.ts';
import { version } from './version.ts';
import { printError, setQuiet } from './voice.ts';

/** Parses argv, runs the command and returns the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  try {
    const page = plainPage(argv);
    if (page !== null) {
      process.stdout.write(page);
      return 0;
    }
    setQuiet(argv.includes('--quiet'));
    // `help policy test` is `policy test --help`
    const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv;
    const name = words.find((word) => !word.startsWith('-'));
    const entry = entryOf(name);
    if (!entry && name !== undefined) throw unknownCommand(name);
    const { parse } = await import('./parse.ts');
    await parse(words, entry, usageHint(words));
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    return failed(argv, error);
  }
}

/** Says why a command failed; its exit code. */
export function failed(argv: readonly string[], error: unknown): number {
  return printError(error, { json: wantsJson(argv), ...exitFor(argv, error) });
}

/** What is answered without a command. */
function plainPage(argv: readonly string[]): string | null {
  if (argv.length === 0) return firstPage();
  if (argv.length > 1) return null;
  if (argv[0] === '--version' || argv[0] === '-V') return `${version()}\n`;
  return ['--help', '-h', 'help'].includes(argv[0]!) ? firstPage() : null;
}

/** `--json` counts only before `--`: what follows belongs to the harness or to the call under test. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json');
}

/** `up` and `exec` leave 1 to 124 to the harness: what fails before it ran is 125; usage and config stay 2, refusals 3. */
function exitFor(argv: readonly string[], error: unknown): { exit?: number } {
  const name = argv.find((word) => !word.startsWith('-'));
  if (name !== 'up' && name !== 'exec') return {};
  return error instanceof WraptoolError && errorCodes[error.code].exit !== 1 ? {} : { exit: 125 };
}

function usageHint(argv: readonly string[]): string {
  const name = argv.find((word) => !word.startsWith('-'));
  return entryOf(name) ? `see wraptool ${name} --help` : 'see wraptool --help';
}

function unknownCommand(name: string): WraptoolError {
  const near = Object.keys(commandTable).find((word) => word.startsWith(name.slice(0, 2)));
  return new WraptoolError('usage', `unknown command "${name}"`, {
    hint: near === undefined ? 'see wraptool --help' : `did you mean "${near}"? see wraptool --help`,
  });
}
