/**
 * How wraptool speaks. Data goes to stdout, everything else to stderr; messages are lower case without a full
 * stop; an error comes first, then its problems one per line, then a hint. Colours respect NO_COLOR and the TTY.
 */
import { styleText } from 'node:util';
import { WraptoolError, errorCodes } from '../errors.ts';
import { escapeHostile, escapeJson } from './hostile.ts';

let quiet = false;

/** Silences notes (`--quiet`); errors are always said. */
export function setQuiet(value: boolean): void {
  quiet = value;
}

function paint(style: Parameters<typeof styleText>[0], text: string): string {
  return styleText(style, text, { stream: process.stderr, validateStream: true });
}

export function printJson(value: unknown): void {
  process.stdout.write(`${escapeJson(JSON.stringify(value))}\n`);
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A remark for the operator on stderr. */
export function note(text: string): void {
  if (!quiet) process.stderr.write(`${paint('dim', 'wraptool:')} ${escapeHostile(text)}\n`);
}

export function warn(text: string): void {
  process.stderr.write(`${paint('yellow', 'warning:')} ${escapeHostile(text)}\n`);
}

/** Prints an error in the form the caller asked for and returns the exit code that belongs to it. */
export function printError(error: unknown, options: { json: boolean; exit?: number }): number {
  const known = asKnown(error);
  const exit = options.exit ?? errorCodes[known.code].exit;
  if (options.json) {
    const body = { code: known.code, message: known.message, hint: known.hint ?? null };
    printJson({ error: known.problems.length === 0 ? body : { ...body, problems: known.problems } });
    return exit;
  }
  const lines = [`${paint('red', 'error:')} ${escapeHostile(known.message)}`];
  for (const problem of known.problems) lines.push(`  ${escapeHostile(problem)}`);
  if (known.hint !== undefined) lines.push(`${paint('cyan', 'hint:')} ${escapeHostile(known.hint)}`);
  if (process.env['WRAPTOOL_DEBUG'] === '1' && error instanceof Error) lines.push(error.stack ?? '');
  process.stderr.write(`${lines.join('\n')}\n`);
  return exit;
}

/** What the machine refuses is the operator's to mend; anything else that is not ours is a fault of wraptool. */
function asKnown(error: unknown): WraptoolError {
  if (error instanceof WraptoolError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  const refused = code === undefined ? undefined : machineHints[code];
  if (refused !== undefined && (path !== undefined || shortages.has(code ?? '')))
    return new WraptoolError(
      'machine_refused',
      `${path === undefined ? 'a file' : `"${path}"`}: ${message.replace(/,.*/, '')}`,
      {
        cause: error,
        hint: refused,
      },
    );
  return new WraptoolError('internal', message, {
    cause: error,
    hint: 'this is a fault of wraptool itself: please report it with the output of the same command under WRAPTOOL_DEBUG=1',
  });
}

/** What may be told of a write without its path. */
const shortages = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE']);

const machineHints: Readonly<Record<string, string>> = {
  ENOSPC: 'make room on that file system',
  EDQUOT: 'your quota on that file system is used up: make room',
  EROFS: 'that file system is read-only: set HOME or the XDG_* variables to folders that you can write',
  EACCES: 'you may not do that there: look at the owner and mode of the path and of its folders',
  EPERM: 'you may not do that there: look at the owner and mode of the path and of its folders',
  ENOTDIR: 'something on that path is not a folder',
  EMFILE: 'too many files are open: raise the limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine',
  ENAMETOOLONG: 'choose a shorter name',
};

/** Rows as aligned columns, the first row being the head. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] ?? 0)))
        .join('  '),
    )
    .join('\n');
}
