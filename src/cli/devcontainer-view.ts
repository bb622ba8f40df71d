/** A definition before the operator's eyes: what it reaches, and every named file as a diff. All of it is an agent's text. */
import { copyFolder, readApproval } from '../devcontainer/approval.ts';
import { changes, newFindings, type FileChange } from '../devcontainer/changes.ts';
import type { Inspection } from '../devcontainer/inspect.ts';
import { obstacles } from '../devcontainer/obstacles.ts';
import { filesBelow } from '../devcontainer/tree.ts';
import type { Finding } from '../devcontainer/types.ts';
import { escapeHostile } from './hostile.ts';
import { table } from './voice.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type View = {
  readonly lines: readonly string[];
  readonly changes: readonly FileChange[];
};

/** Longer diffs are cut, and say so. */
const mostLines = 400;

export function findingLines(
  inspection: Inspection,
  fresh: ReadonlySet<string> = new Set(),
): readonly string[] {
  const { findings } = inspection;
  if (findings.length === 0) return ['nothing was found'];
  const sorted = [...findings].sort((a, b) => rank(a) - rank(b));
  const rows = sorted.map((one) => [
    `${fresh.has(JSON.stringify(one)) ? '+ ' : ''}${one.severity}`,
    one.code,
    escapeHostile(
      `${one.file === undefined ? '' : `${one.file} `}${one.json_path === '' ? '(whole)' : one.json_path}`,
    ),
    escapeHostile(one.detail.arg === undefined ? one.detail.why : `${one.detail.arg}: ${one.detail.why}`),
  ]);
  return table([['REACHES', 'CODE', 'PLACE', 'WHAT'], ...rows]).split('\n');
}

/** All that an approval is about; against what was approved before, where something was. */
export async function approvalView(env: Env, inspection: Inspection): Promise<View> {
  const before = await readApproval(env, inspection);
  const folder = before === null ? null : copyFolder(env, inspection, before.hash);
  const changed = await changes(
    inspection,
    folder === null ? null : { folder, files: await filesBelow(folder) },
  );
  const lines = [
    `${escapeHostile(inspection.name)} of ${escapeHostile(inspection.workspace)}, sha256 ${inspection.hash}`,
    before === null
      ? 'never approved before'
      : `approved before at ${before.approved_at}; changed since, + is new:`,
    '',
    ...findingLines(inspection, before === null ? undefined : newFindings(inspection, before)),
    '',
    ...changed.flatMap(fileLines),
    ...(inspection.findings.some(({ code }) => code === 'initialize_command')
      ? ['', 'initializeCommand is never run, approved or not']
      : []),
    ...obstacles(inspection).map((one) => escapeHostile(`"up" will refuse it: ${one}`)),
  ];
  return { lines, changes: changed };
}

function fileLines({ file, change, bytes, diff }: FileChange): readonly string[] {
  const head = `${change} ${escapeHostile(file)} (${bytes} bytes)`;
  if (diff === null) return [`${head}: no text`];
  const lines = diff.split('\n').filter((line, index, all) => line !== '' || index < all.length - 1);
  const shown = lines.slice(0, mostLines).map((line) => `  ${escapeHostile(line)}`);
  return lines.length > mostLines
    ? [head, ...shown, `  … ${lines.length - mostLines} more lines`]
    : [head, ...shown];
}

function rank({ severity }: Finding): number {
  return severity === 'host' ? 0 : 1;
}
