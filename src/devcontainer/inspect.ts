/**
 * What in a workspace's dev container definition reaches the host. Nothing is run, nothing is fetched, no link is
 * followed out of the workspace but that of the definition itself, which is named as such.
 */
import { createHash } from 'node:crypto';
import { workspaceGround } from './ground.ts';
import { judge, originOf, type Origin } from './judge.ts';
import { readJsonc } from './jsonc.ts';
import { locate, type Located } from './locate.ts';
import { namedFiles } from './named-files.ts';
import { limits, type Entry } from './tree.ts';
import type { Finding } from './types.ts';
import { isObject, type JsonObject } from './values.ts';

export type Inspection = {
  readonly workspace: string;
  /** Of the definition, relative to the workspace. */
  readonly name: string;
  /** Of the definition, of every file that it names and of what was found: hexadecimal SHA-256. */
  readonly hash: string;
  readonly findings: readonly Finding[];
  /** As the CLI would read it; null where it is no object. */
  readonly given: JsonObject | null;
  readonly origin: Origin;
  /** By path relative to the workspace, sorted. */
  readonly files: ReadonlyMap<string, Entry>;
  /** More is named than is taken. */
  readonly tooMuch: boolean;
};

/** `workspace` is a real path. Null: it has no definition. Errors: usage. */
export async function inspect(
  workspace: string,
  options: { readonly definition?: string | undefined; readonly cwd: string },
): Promise<Inspection | null> {
  const located = await locate(workspace, options.definition, options.cwd);
  if (located === null) return null;
  const ground = workspaceGround(workspace);
  const bytes = located.bytes ?? Buffer.alloc(0);
  const read = readJsonc(bytes.toString('utf8'));
  const given = isObject(read.value) ? read.value : null;
  const judgement = given === null ? null : await judge(given, located.file, ground);
  const findings = [...ofFile(located, read, given), ...(judgement?.findings ?? [])];
  const named = await namedFiles(given, { ...located, bytes }, judgement, ground);
  const files = new Map([...named.entries].sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    workspace,
    name: located.name,
    hash: digest(located.name, files, findings, named.full),
    findings,
    given,
    origin: given === null ? 'none' : originOf(given),
    files,
    tooMuch: named.full,
  };
}

function ofFile(located: Located, read: ReturnType<typeof readJsonc>, given: JsonObject | null): Finding[] {
  const whole = { json_path: '', severity: 'host' } as const;
  const found: Finding[] = [];
  if (located.leadsOut)
    found.push({ ...whole, code: 'symlink_outside', detail: { why: 'a link leads out of the workspace' } });
  if (located.bytes === null)
    found.push({ ...whole, code: 'parse_error', detail: { why: 'no plain file that can be read' } });
  else if (read.faults.length > 0 || given === null)
    found.push({
      ...whole,
      code: 'parse_error',
      detail: { why: read.faults.length > 0 ? read.faults.join('; ') : 'it is no object' },
    });
  if (read.duplicates.length > 0)
    found.push({
      code: 'parse_error',
      json_path: '',
      severity: 'info',
      detail: {
        why: `twice in one object, the last counts: ${[...new Set(read.duplicates)].slice(0, 20).join(', ')}`,
      },
    });
  return found;
}

function digest(
  name: string,
  files: ReadonlyMap<string, Entry>,
  findings: readonly Finding[],
  tooMuch: boolean,
): string {
  const sum = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
  const listed = [...files].map(([file, entry]) =>
    'bytes' in entry ? [file, sum(entry.bytes), entry.executable] : [file, entry.instead],
  );
  return sum(JSON.stringify(['wraptool-devcontainer-1', name, listed, findings, tooMuch, limits]));
}
