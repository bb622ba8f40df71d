/** Prints ns per decision at 10, 1,000 and 100,000 rules: node test/bench/policy.bench.ts */
import { compile } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import type { RuleSpec, ToolSpec } from '../../src/policy/spec.ts';

const perTool = 10;

function policy(rules: number) {
  const allow = (index: number): RuleSpec => ({
    subcommand: `sub${index}`,
    flags: ['--all', '--name'],
    flag_constraints: {
      '--all': { short: '-a', value: 'none' },
      '--name': { value: 'required', pattern: '[a-z][a-z0-9-]{0,60}' },
    },
    args: [{ enum: ['origin'] }],
  });
  const tools: Record<string, ToolSpec> = {};
  for (let index = 0; index < rules / perTool; index++)
    tools[`tool${index}`] = {
      binary: '/bin/x',
      allow: Array.from({ length: perTool }, (_, each) => allow(each)),
    };
  return compile(tools, () => ({ file: 'f', line: 1 })).policy;
}

for (const rules of [10, 1000, 100_000]) {
  const compiled = policy(rules);
  const names = Array.from({ length: 4096 }, (_, index) => `tool${(index * 7919) % (rules / perTool)}`);
  const calls = {
    allow: ['sub3', '-a', '--name=main', 'origin'],
    deny: ['sub3', '--force', 'origin'],
  };
  for (const [kind, argv] of Object.entries(calls)) {
    const round = (): number => {
      // Time of the processor, so that other programs do not count.
      const start = process.cpuUsage();
      for (const tool of names) evaluate(compiled, { tool, argv });
      return (process.cpuUsage(start).user * 1000) / names.length;
    };
    const times = Array.from({ length: 30 }, round).sort((a, b) => a - b);
    process.stdout.write(`${rules} rules, ${kind}: ${Math.round(times[5] ?? 0)} ns\n`);
  }
}
