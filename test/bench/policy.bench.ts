/** Time of one decision at 10, 1,000 and 100,000 rules, over 4,096 tools in turn: node test/bench/policy.bench.ts */
import { compile } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import type { RuleSpec, ToolSpec } from '../../src/policy/spec.ts';
import { at, say } from './measure.ts';

const perTool = 10;
/** Over all names in one round: the clock of processor time is coarse. */
const passes = 8;
const subcommands = Array.from({ length: perTool }, (_, index) => `sub${index}`);

function policy(rules: number) {
  const allow = (subcommand: string): RuleSpec => ({
    subcommand,
    flags: ['--all', '--name'],
    flag_constraints: {
      '--all': { short: '-a', value: 'none' },
      '--name': { value: 'required', pattern: '[a-z][a-z0-9-]{0,60}' },
    },
    args: [{ enum: ['origin'] }],
  });
  const tools: Record<string, ToolSpec> = {};
  for (let index = 0; index < rules / perTool; index++)
    tools[`tool${index}`] = { binary: '/bin/x', allow: subcommands.map(allow) };
  return compile(tools, () => ({ file: 'f', line: 1 })).policy;
}

const calls = {
  allow: ['sub3', '-a', '--name=main', 'origin'],
  deny: ['sub3', '--force', 'origin'],
};
const found = new Map<string, number>();

/** ns of processor time, so that other programs do not count; the better quarter of twenty rounds. */
function nanoseconds(names: readonly string[], decide: (tool: string) => unknown): number {
  const rounds = Array.from({ length: 20 }, () => {
    const start = process.cpuUsage();
    for (let pass = 0; pass < passes; pass++) for (const tool of names) decide(tool);
    return (process.cpuUsage(start).user * 1000) / names.length / passes;
  });
  return at(rounds, 0.25);
}

for (const rules of [10, 1000, 100_000]) {
  const compiled = policy(rules);
  const names = Array.from({ length: 4096 }, (_, index) => `tool${(index * 7919) % (rules / perTool)}`);
  const one = names.map(() => 'tool0');
  for (const [kind, argv] of Object.entries(calls)) {
    const value = nanoseconds(names, (tool) => evaluate(compiled, { tool, argv }));
    found.set(`${kind} ${rules}`, value);
    say({ id: 'G17', what: `${kind}, ${rules} rules, each tool in turn`, value, unit: ' ns', must: 1000 });
    const same = nanoseconds(one, (tool) => evaluate(compiled, { tool, argv }));
    say({ id: 'G17', what: `${kind}, ${rules} rules, one tool`, value: same, unit: ' ns', must: 1000 });
  }
}
for (const kind of Object.keys(calls)) {
  const ten = found.get(`${kind} 10`) ?? NaN;
  say({
    id: 'G17',
    what: `${kind}, 1,000 rules / 10`,
    value: (found.get(`${kind} 1000`) ?? NaN) / ten,
    must: 3,
  });
  say({
    id: 'G17',
    what: `${kind}, 100,000 rules / 10`,
    value: (found.get(`${kind} 100000`) ?? NaN) / ten,
    must: 8,
  });
}
