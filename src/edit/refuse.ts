/** Refusing an edit: thrown inside this folder, a value outside. */
import { errorCodes, WraptoolError } from '../errors.ts';
import type { Refusal, RefusalCode } from './types.ts';

export class EditRefused extends Error {
  override readonly name = 'EditRefused';
  readonly code: RefusalCode;
  readonly offset: number | undefined;

  /** `offset` is where in the text (without byte order mark) the trouble is. */
  constructor(code: RefusalCode, why: string, offset?: number) {
    super(why);
    this.code = code;
    this.offset = offset;
  }
}

/** Runs `edit`; a refusal becomes a value with line and column in `text`. */
export function refusing<T>(text: string, edit: () => T): T | Refusal {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error;
    const { code, message, offset } = error;
    return { ok: false, code, why: message, ...(offset === undefined ? {} : placeOf(text, offset)) };
  }
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - (before.lastIndexOf('\n') + 1) + 1 };
}

/** A refusal as the error that a user sees; `file` is the file that was left alone. */
export function refusalError({ code, why, line, column }: Refusal, file: string): WraptoolError {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return new WraptoolError(code, `${place}: ${why}`, { hint: errorCodes[code].mend });
}
