/** What an operator decides on: everything that is shown, and one digest over it. */
import { createHash } from 'node:crypto';
import { resolveBinary } from '../executor/binary.ts';
import type { ResolvedBinary } from '../executor/types.ts';
import { WraptoolError } from '../errors.ts';
import { recentRecords } from '../log/tail.ts';
import type { Policy } from '../policy/compile.ts';
import { evaluate } from '../policy/evaluate.ts';
import { callOf, planChange, type Change, type Ground, type NoChange } from './change.ts';
import type { Request } from './types.ts';

export type Review = {
  readonly request: Request;
  /** The tool and its argv as asked. */
  readonly call: readonly string[];
  /** What would run: the program's real path and the canonical argv; null where that is not one certain call. */
  readonly runs: readonly string[] | null;
  /** Real path of the program, or why there is none. */
  readonly binary: { readonly path: string } | { readonly problem: string };
  readonly config: { readonly file: string; readonly hash: string };
  readonly wide: boolean;
  readonly change: Change | NoChange;
  /** Refused calls of the recent past that would be allowed. */
  readonly past: { readonly looked: number; readonly calls: readonly (readonly string[])[] };
  /** sha256 over all that an approval is bound to. */
  readonly digest: string;
};

/** How much of the log is looked at for past calls. */
const pastBytes = 8 * 1024 * 1024;
const mostPast = 10;
/** What an agent was refused is of its making: no past of it may keep the operator waiting. */
const pastMs = 1_000;

/** Throws what reading the log throws. */
export async function review(request: Request, ground: Ground, dir: string, wide: boolean): Promise<Review> {
  const { snapshot } = ground;
  const change = planChange(ground, request, wide);
  const { tool, argv } = callOf(request);
  const configured = Object.hasOwn(snapshot.config.tools, tool) ? snapshot.config.tools[tool] : undefined;
  const binary = await resolved(configured?.binary ?? null, tool);
  const config = { file: snapshot.file, hash: snapshot.hash };
  const program = 'mtimeNs' in binary ? binary : null;
  const canonical = change.ok && change.decision.decision === 'allow' ? change.decision.argv : null;
  return {
    request,
    call: [tool, ...argv],
    runs: canonical === null ? null : [program?.path ?? tool, ...canonical],
    binary: program === null ? (binary as { problem: string }) : { path: program.path },
    config,
    wide,
    change,
    past: change.ok ? await pastCalls(dir, tool, snapshot.policy, change.policy) : { looked: 0, calls: [] },
    digest: digestOf(request, program, config, wide, change),
  };
}

function digestOf(
  request: Request,
  program: ResolvedBinary | null,
  config: Review['config'],
  wide: boolean,
  change: Change | NoChange,
): string {
  const { id, digest, sessionId, cwd, argv, rationale, enables } = request;
  const identity = program && [
    program.path,
    ...[program.dev, program.ino, program.mtimeNs, program.size].map(String),
  ];
  const shown = change.ok ? [change.rule, change.edited.diff] : [change.code, change.why];
  const parts = [id, digest, sessionId, cwd, argv, rationale, enables, identity, config, wide, shown];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

async function resolved(binary: string | null, tool: string): Promise<ResolvedBinary | { problem: string }> {
  if (binary === null) return { problem: `the config has no tool "${tool}"` };
  try {
    return await resolveBinary(binary, []);
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    return { problem: error.message };
  }
}

/** Refused calls of a tool in the recent past that one policy denies and the other allows. */
export async function pastCalls(
  dir: string,
  tool: string,
  now: Policy,
  then: Policy,
): Promise<Review['past']> {
  const mark = `"tool":${JSON.stringify(tool)}`;
  const refused = await recentRecords(
    dir,
    pastBytes,
    (line) => line.includes('"decision":"deny"') && line.includes(mark),
  );
  const calls = new Map<string, readonly string[]>();
  const judged = new Set<string>();
  const end = performance.now() + pastMs;
  let looked = 0;
  for (const { record } of refused) {
    if (performance.now() > end) break;
    if (record.event !== 'decided' || record.argv === null || record.argv_cut) continue;
    looked += 1;
    const call = { tool, argv: record.argv };
    const key = JSON.stringify(call.argv);
    if (record.tool !== tool || judged.has(key)) continue;
    judged.add(key);
    if (evaluate(now, call).decision === 'allow') continue;
    if (evaluate(then, call).decision === 'allow') calls.set(key, [tool, ...call.argv]);
  }
  return { looked, calls: [...calls.values()].slice(0, mostPast) };
}
