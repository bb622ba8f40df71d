/** Whether the gateway works as the harness reaches it: asked in the runtime, with the harness's own address and token. */
import type { Proof } from '../restart/health.ts';
import { howEnded, runInside, type Patience } from './inside.ts';
import type { Finding } from './preflight.ts';
import type { LaunchSpec, Started } from './runtime/runtime.ts';

export type Probe = {
  /** Registered name of the tool that has to answer. */
  readonly tool: string;
  /** sha256 (hex) of the config that the gateway has to say it serves. */
  readonly config: string;
};

export async function probe(
  started: Started,
  spec: LaunchSpec,
  asked: Probe,
  limits?: Patience,
): Promise<Proof> {
  const argument = { workspace: spec.workspace.path, probe: asked };
  const { code, out, err } = await runInside(started, 'probe', argument, null, limits);
  const why = (err.trim() || out.trim()).split('\n')[0]?.slice(0, 300) ?? '';
  const reasons = (code === 0 ? parse(out) : null) ?? [
    `the probe did not run inside (${howEnded(code)}): ${why}`,
  ];
  return proofOf(reasons);
}

/** The checks before the harness starts are the first proof. */
export function proofOfFindings(findings: readonly Finding[]): Proof {
  const faults = findings.filter(({ check, level }) => check === 'gateway' && level === 'fault');
  return proofOf(faults.map(({ detail }) => detail));
}

function proofOf(reasons: readonly string[]): Proof {
  return { source: 'client_namespace', ok: reasons.length === 0, reasons };
}

/** What is not a list of reasons is none: whoever said it is not the program that was started. */
function parse(text: string): string[] | null {
  try {
    const { reasons } = JSON.parse(text) as { reasons?: unknown };
    const fits =
      Array.isArray(reasons) && reasons.length <= 20 && reasons.every((one) => typeof one === 'string');
    return fits ? (reasons as string[]).map((one) => one.slice(0, 500)) : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}
