import type { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import type { Snapshot } from '../../config/types.ts';
import { WraptoolError } from '../../errors.ts';
import { explain } from '../../policy/explain.ts';
import type { Decision } from '../../policy/types.ts';
import { escapeHostile, renderArgv } from '../hostile.ts';
import { runBatch } from '../policy-batch.ts';
import { diffPolicies } from '../policy-diff.ts';
import { registerAllow } from '../policy-allow.ts';
import { cwdJudge, judgeCall } from '../policy-judge.ts';
import { printJson, printLine } from '../voice.ts';

type TestFlags = { config?: string; cwd?: string; json?: boolean; batch?: string };

export function register(program: Command): void {
  const policy = program.command('policy').description('test calls against the policy, and widen it');
  policy
    .command('test')
    .description('say whether a call would be allowed, and by which rule (exit 0 allow, 3 deny)')
    .argument('[call...]', 'the call after --, beginning with the tool')
    .option('--config <file>', 'the config file')
    .option('--cwd <dir>', 'judge this working directory too')
    .option('--json', 'as JSON')
    .option('--batch <file>', 'judge the calls of a JSONL file against what it expects')
    .action(async (call: string[], flags: TestFlags) => {
      process.exitCode = await testPolicy(call, flags, process.env);
    });
  policy
    .command('diff')
    .description('say which examples and past calls would change their decision')
    .argument('<old>', 'config file')
    .argument('<new>', 'config file')
    .option('--log <dir>', 'the log with past calls; default: that of the new config')
    .option('--json', 'as JSON')
    .action(async (before: string, after: string, flags: { log?: string; json?: boolean }) => {
      await showDiff(before, after, flags);
    });
  registerAllow(policy);
}

/** Exit code: 0 allow, 3 deny; with --batch 0 or 1. */
export async function testPolicy(
  call: readonly string[],
  flags: TestFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  if (flags.batch === undefined && call.length === 0)
    throw new WraptoolError('usage', 'there is no call to test', {
      hint: 'write it after --, for example: wraptool policy test -- git status',
    });
  if (flags.batch !== undefined && call.length > 0)
    throw new WraptoolError('usage', 'a call and --batch cannot go together', {
      hint: 'leave one of them out',
    });
  const snapshot = await loadConfig({ path: flags.config, env, locations: false });
  const judgeCwd = cwdJudge(snapshot.config);
  if (flags.batch !== undefined) return runBatch(flags.batch, snapshot, judgeCwd, flags.json === true);
  const decision = await judgeCall(
    snapshot.policy,
    { argv: call, ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }) },
    judgeCwd,
  );
  if (flags.json) printJson(facts(decision));
  else printLine(inWords(decision));
  return decision.decision === 'allow' ? 0 : 3;
}

function facts(decision: Decision): Record<string, unknown> {
  const denied = decision.decision === 'deny' ? decision : null;
  return {
    decision: decision.decision,
    reason_code: denied?.reason ?? null,
    detail: denied?.detail ?? null,
    tool: decision.tool,
    subcommand: decision.subcommand.join(' '),
    argv: decision.argv,
    rule: decision.rule,
  };
}

function inWords(decision: Decision): string {
  const { rule } = decision;
  const place = rule ? `rule: ${escapeHostile(rule.file)}:${rule.line} (${rule.effect})` : 'rule: none';
  if (decision.decision === 'allow')
    return ['ALLOWED', place, `runs: ${renderArgv([decision.tool, ...decision.argv])}`].join('\n');
  return [explain(decision).text, '', `reason: ${decision.reason}`, place].join('\n');
}

async function showDiff(
  before: string,
  after: string,
  flags: { log?: string; json?: boolean },
): Promise<void> {
  const load = (path: string): Promise<Snapshot> => loadConfig({ path, env: process.env, locations: false });
  const [older, newer] = [await load(before), await load(after)];
  const diff = await diffPolicies(older.policy, newer.policy, flags.log ?? newer.config.requests.log);
  if (flags.json) return printJson(diff);
  for (const { call, source, old, new: now } of diff.changed)
    printLine(`${old} -> ${now}  ${renderArgv(call)}  (${source})`);
  printLine(`${diff.changed.length} changed, ${diff.same} unchanged`);
}
