/** Policies written as data, and decisions as one word. */
import assert from 'node:assert/strict';
import { compile, type Policy } from '../../src/policy/compile.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import type { ToolSpec } from '../../src/policy/spec.ts';
import type { Decision } from '../../src/policy/types.ts';

type Rules = Omit<ToolSpec, 'binary'> & { binary?: string };

/** Compiles tools without `binary`; fails the test where they have problems. */
export function policyOf(tools: Readonly<Record<string, Rules>>): Policy {
  const specs = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { binary: `/usr/bin/${name}`, ...tool }]),
  );
  const { policy, problems } = compile(specs, (path) => ({ file: 'config.yaml', line: path.length }));
  assert.deepEqual(problems, []);
  return policy;
}

/** The messages of the problems, with their paths. */
export function problemsOf(tools: Readonly<Record<string, Rules>>): string[] {
  const specs = Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, { binary: `/usr/bin/${name}`, ...tool }]),
  );
  return compile(specs, () => ({ file: 'config.yaml', line: 1 })).problems.map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
}

export function decide(policy: Policy, argv: readonly unknown[]): Decision {
  const [tool, ...rest] = argv as string[];
  return evaluate(policy, { tool: tool ?? '', argv: rest });
}

/** The canonical argv of what is allowed, else the reason code. */
export function outcome(policy: Policy, argv: readonly unknown[]): readonly string[] | string {
  const decision = decide(policy, argv);
  return decision.decision === 'allow' ? decision.argv : decision.reason;
}
