/** The one writer. Whatever is edited is a list of changes; what no change names cannot differ. */
import { isDeepStrictEqual } from 'node:util';
import { unifiedDiff } from './diff.ts';
import { isBlank } from './lines.ts';
import { EditRefused } from './refuse.ts';
import type { Change, Edited } from './types.ts';

export const byteOrderMark = '\uFEFF';

/** Decodes and keeps the byte order mark; bytes that are not UTF-8 are refused. */
export function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new EditRefused('not_utf8', 'the file is not UTF-8');
  }
}

/** The text with the changes made. They may stand in any order, and not overlap. */
export function apply(text: string, changes: readonly Change[]): string {
  let done = 0;
  let result = '';
  for (const { at, remove, insert } of inOrder(changes)) {
    if (at < done || !text.startsWith(remove, at) || at > text.length)
      throw new RangeError(`a change at offset ${at} does not fit the text`);
    result += text.slice(done, at) + insert;
    done = at + remove.length;
  }
  return result + text.slice(done);
}

/** The changes that take `changes` back, for the text that `apply` gave. */
export function inverse(changes: readonly Change[]): Change[] {
  let shift = 0;
  return inOrder(changes).map(({ at, remove, insert }) => {
    const back = { at: at + shift, remove: insert, insert: remove };
    shift += insert.length - remove.length;
    return back;
  });
}

function inOrder(changes: readonly Change[]): Change[] {
  return changes.filter(({ remove, insert }) => remove !== insert).sort((one, other) => one.at - other.at);
}

export type Proof = {
  /** What a reader of the format makes of a text; throws EditRefused where it does not parse. */
  readonly read: (text: string) => unknown;
  /** What it must make of the new text. */
  readonly expected: unknown;
  /** Text that a change may remove besides white space and empty values: our own entry. */
  readonly own?: readonly string[];
  readonly notes?: readonly string[];
};

/** Makes the changes if they provably do what is meant and nothing else; otherwise `result_invalid`. */
export function splice(text: string, changes: readonly Change[], proof: Proof): Edited {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : '';
  const before = text.slice(mark.length);
  for (const { remove } of changes)
    if (!isBlank(remove) && !isEmptyValue(remove) && !(proof.own ?? []).includes(remove))
      throw new EditRefused('result_invalid', 'the edit would remove text that is not its own');
  const after = apply(before, changes);
  if (apply(after, inverse(changes)) !== before)
    throw new EditRefused('result_invalid', 'the edit could not be taken back');
  if (!isDeepStrictEqual(readBack(proof.read, after), proof.expected))
    throw new EditRefused(
      'result_invalid',
      'the edited file would say something else than what was asked for',
    );
  return {
    ok: true,
    text: mark + after,
    changes: inOrder(changes),
    diff: unifiedDiff(before, after, inOrder(changes)),
    notes: proof.notes ?? [],
  };
}

function readBack(read: (text: string) => unknown, text: string): unknown {
  try {
    return read(text);
  } catch (error) {
    if (!(error instanceof EditRefused)) throw error;
    // Its place is one of the new text: of no use to whoever looks at the old one.
    throw new EditRefused('result_invalid', `the edited file would not load: ${error.message}`);
  }
}

function isEmptyValue(text: string): boolean {
  return /^(\[\s*\]|\{\s*\}|~|null|Null|NULL|,)$/.test(text.trim());
}

/** Nothing had to change. */
export function unchanged(text: string, notes: readonly string[] = []): Edited {
  return { ok: true, text, changes: [], diff: '', notes };
}
