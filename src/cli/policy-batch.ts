/** `policy test --batch`: JSONL of calls with what is expected of each. */
import { readFile } from 'node:fs/promises';
import { z } from '../zod.ts';
import type { Snapshot } from '../config/types.ts';
import { WraptoolError } from '../errors.ts';
import { reasonCodes } from '../policy/types.ts';
import { escapeHostile } from './hostile.ts';
import { judgeCall, type JudgeCwd } from './policy-judge.ts';
import { printJson, printLine } from './voice.ts';

const reason = z.enum(reasonCodes);

/** Further keys are the file's own business; a verdict that nobody knows is not. */
const caseSchema = z.looseObject({
  id: z.string(),
  argv: z.unknown(),
  cwd: z.unknown().optional(),
  url_query: z.unknown().optional(),
  expected: z.enum(['allow', 'deny']),
  reason: reason.nullish(),
  accept: z.array(reason).nullish(),
});

type Case = z.infer<typeof caseSchema>;

/** Exit code: 0 all as expected, 1 not. */
export async function runBatch(
  file: string,
  snapshot: Snapshot,
  judgeCwd: JudgeCwd,
  json: boolean,
): Promise<number> {
  const mismatches: { id: string; expected: string; got: string }[] = [];
  const cases = await readCases(file);
  for (const one of cases) {
    const decision = await judgeCall(snapshot.policy, one, judgeCwd);
    const got = decision.decision === 'allow' ? 'allow' : `deny ${decision.reason}`;
    const wanted = expectations(one);
    if (!wanted.includes(got) && !(one.expected === decision.decision && wanted.length === 0))
      mismatches.push({ id: one.id, expected: wanted.join(' or ') || one.expected, got });
  }
  const passed = cases.length - mismatches.length;
  if (json) printJson({ passed, failed: mismatches.length, mismatches });
  else {
    for (const { id, expected, got } of mismatches)
      printLine(`${escapeHostile(id)}: expected ${expected}, got ${got}`);
    printLine(`${passed} passed, ${mismatches.length} failed`);
  }
  return mismatches.length === 0 ? 0 : 1;
}

/** The answers that are right; none where only the decision matters. */
function expectations(one: Case): string[] {
  if (one.expected === 'allow') return ['allow'];
  const codes = [...(one.reason ? [one.reason] : []), ...(one.accept ?? [])];
  return [...new Set(codes)].map((code) => `deny ${code}`);
}

async function readCases(file: string): Promise<Case[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new WraptoolError('usage', `the batch "${file}" cannot be read: ${error.code ?? error.message}`, {
      hint: 'name a JSONL file',
      cause: error,
    });
  });
  return text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [readCase(line, `${file}:${index + 1}`)]));
}

function readCase(line: string, place: string): Case {
  const refuse = (why: string, cause?: unknown): WraptoolError =>
    new WraptoolError('usage', `${place}: ${why}`, {
      hint: 'each line is {"id", "argv", "expected": "allow" or "deny", "reason"?, "accept"?, "cwd"?, "url_query"?}',
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) throw refuse('not JSON', error);
    throw error;
  }
  const parsed = caseSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const first = parsed.error.issues[0];
  throw refuse(
    `${first?.path.join('.') ?? ''}: ${first?.message.toLowerCase() ?? 'not a case'}`,
    parsed.error,
  );
}
