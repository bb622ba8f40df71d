/** Allow rules that no call used. By what rule a past call would be allowed now, wherever that rule stood then. */
import type { Snapshot } from '../config/types.ts';
import { linesOf } from '../log/chain.ts';
import { logFiles, pathOf } from '../log/files.ts';
import { parseRecord } from '../log/record.ts';
import { evaluate } from '../policy/evaluate.ts';
import type { AllowRule, Word } from '../policy/rule.ts';

export type UnusedRule = {
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly file: string;
  readonly line: number;
};

/** `calls`: how many different allowed calls the log has. */
export async function unusedRules(
  { policy }: Snapshot,
  dir: string,
): Promise<{ rules: UnusedRule[]; calls: number }> {
  const used = new Set<string>();
  const seen = new Set<string>();
  const judged = new Set<string>();
  for (const file of await logFiles(dir))
    for await (const { line, complete } of linesOf(pathOf(dir, file))) {
      if (!complete || !line.includes('"event":"decided"') || !line.includes('"decision":"allow"')) continue;
      const record = parseRecord(line);
      if (record?.event !== 'decided' || record.argv === null || record.argv_cut) continue;
      const key = JSON.stringify([record.tool, record.argv]);
      seen.add(key);
      // What was granted is not the rule's use, even where the rule would allow it by now.
      if (record.rule === null || judged.has(key)) continue;
      judged.add(key);
      const decision = evaluate(policy, { tool: record.tool, argv: record.argv });
      if (decision.decision === 'allow') used.add(placeOf(decision.rule));
    }
  const rules = [...policy.tools.values()].flatMap(({ root }) => rulesOf(root));
  return {
    calls: seen.size,
    rules: rules
      .filter(({ ref }) => !used.has(placeOf(ref)))
      .map(({ tool, path, ref }) => ({ tool, subcommand: path, file: ref.file, line: ref.line })),
  };
}

const placeOf = ({ file, line }: AllowRule['ref']): string => `${file}:${line}`;

function rulesOf({ allow, next }: Word): AllowRule[] {
  return [...allow, ...[...next.values()].flatMap(rulesOf)];
}
