/** Which examples and past calls two policies decide differently. */
import { readLog } from '../log/read.ts';
import type { Policy } from '../policy/compile.ts';
import { evaluate } from '../policy/evaluate.ts';

export type Change = {
  /** The tool and its argv. */
  readonly call: readonly string[];
  readonly source: 'example' | 'log';
  /** `allow`, or the reason code of the denial. */
  readonly old: string;
  readonly new: string;
};

export async function diffPolicies(
  before: Policy,
  after: Policy,
  log: string,
): Promise<{ changed: readonly Change[]; same: number }> {
  const calls = new Map<string, { call: readonly string[]; source: 'example' | 'log' }>();
  const add = (call: readonly string[], source: 'example' | 'log'): void => {
    const key = JSON.stringify(call);
    if (!calls.has(key)) calls.set(key, { call, source });
  };
  for (const policy of [before, after])
    for (const tool of policy.tools.values())
      for (const argv of tool.examples) add([tool.name, ...argv], 'example');
  for await (const { record } of readLog(log))
    if (record.event === 'decided' && record.argv !== null && !record.argv_cut)
      add([record.tool, ...record.argv], 'log');
  const changed = [...calls.values()].flatMap(({ call, source }) => {
    const [old, now] = [decide(before, call), decide(after, call)];
    return old === now ? [] : [{ call, source, old, new: now }];
  });
  return { changed, same: calls.size - changed.length };
}

function decide(policy: Policy, call: readonly string[]): string {
  const [tool = '', ...argv] = call;
  const decision = evaluate(policy, { tool, argv });
  return decision.decision === 'allow' ? 'allow' : decision.reason;
}
