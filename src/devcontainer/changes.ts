/** What an approval is asked for: every named file against what was approved before, as a diff. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { unifiedDiff } from '../edit/diff.ts';
import { orNull } from './ground.ts';
import type { Inspection } from './inspect.ts';
import type { Approval } from './approval.ts';

export type FileChange = {
  readonly file: string;
  readonly change: 'new' | 'changed' | 'removed';
  readonly bytes: number;
  /** Unified diff; null where it is no text. */
  readonly diff: string | null;
};

/** `copy`: the folder of what was approved, with its record; null: nothing was. */
export async function changes(
  inspection: Inspection,
  copy: { readonly folder: string; readonly files: readonly string[] } | null,
): Promise<readonly FileChange[]> {
  const found: FileChange[] = [];
  for (const [file, entry] of inspection.files) {
    const before = copy === null ? null : await orNull(readFile(path.join(copy.folder, file)));
    const after = 'bytes' in entry ? entry.bytes : Buffer.from(`(${entry.instead})\n`);
    if (before !== null && before.equals(after)) continue;
    found.push({
      file,
      change: before === null ? 'new' : 'changed',
      bytes: after.length,
      diff: textDiff(before ?? Buffer.alloc(0), after),
    });
  }
  for (const file of copy?.files ?? [])
    if (!inspection.files.has(file)) found.push({ file, change: 'removed', bytes: 0, diff: '' });
  return found;
}

/** Codes and places that were not there when it was approved. */
export function newFindings(inspection: Inspection, before: Approval | null): ReadonlySet<string> {
  const known = new Set((before?.findings ?? []).map((finding) => JSON.stringify(finding)));
  return new Set(
    inspection.findings.map((finding) => JSON.stringify(finding)).filter((one) => !known.has(one)),
  );
}

function textDiff(before: Buffer, after: Buffer): string | null {
  const [old, fresh] = [before, after].map(textOf);
  if (old === null || fresh === null || old === undefined || fresh === undefined) return null;
  if (old === fresh) return '';
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  const shorter = Math.min(old.length, fresh.length) - start;
  while (end < shorter && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const change = {
    at: start,
    remove: old.slice(start, old.length - end),
    insert: fresh.slice(start, fresh.length - end),
  };
  return unifiedDiff(old, fresh, [change]);
}

function textOf(bytes: Buffer): string | null {
  const text = bytes.toString('utf8');
  return text.includes('\0') || text.includes('\uFFFD') ? null : text;
}
