/** The checks inside the runtime, as its user, before the harness starts: one command there, its findings read as hostile. */
import { WraptoolError } from '../errors.ts';
import { homeDir } from '../paths.ts';
import { hasTerminal, terminalSize } from './attach.ts';
import { howEnded, runInside, type Patience } from './inside.ts';
import type { Probe } from './probe.ts';
import type { LaunchSpec, Started } from './runtime/runtime.ts';

export type Finding = {
  /** What was looked at: workspace, git, gateway, dns, clock, locale, terminal, credentials. */
  readonly check: string;
  /** fault: the harness is not started. note: not decided in the time that there is. */
  readonly level: 'fault' | 'warning' | 'note';
  readonly detail: string;
  /** What to do about it. */
  readonly mend: string;
};

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Looks from inside. `named`: variables that the operator named for the harness, set or not. `probe`: known when the gateway
 * is there; all else is looked at meanwhile. Rejects where it does.
 */
export async function preflight(
  started: Started,
  spec: LaunchSpec,
  world: { readonly env: Env },
  named: readonly string[],
  probe: Probe | Promise<Probe>,
  limits?: Patience,
): Promise<readonly Finding[]> {
  const size = hasTerminal() ? terminalSize() : null;
  const own = size !== null && started.ownTerminals === true;
  const expected = {
    workspace: spec.workspace.path,
    hostHome: homeDir(world.env),
    network: spec.network,
    zone: spec.env['TZ'] ?? 'UTC',
    now: Date.now(),
    terminal: size === null ? null : { ...size, own },
    named: [...new Set([...named, ...Object.keys(spec.env)])],
    // On a terminal of its own, what is said to it would come back as its answer.
    probe: own ? await probe : null,
  };
  const { code, out, err } = await runInside(
    started,
    'preflight',
    expected,
    own ? size : null,
    limits,
    own ? null : Promise.resolve(probe).then((one) => JSON.stringify(one)),
  );
  // Nothing that was said inside makes up for a gateway that could not be asked.
  await probe;
  const found = (code === 0 ? parse(out) : null) ?? [unable(code, err.trim() || out.trim())];
  return spec.approved === undefined ? found : found.map(approvedCredential);
}

/** What an approved definition brings in was shown to the operator by name: it is there on purpose, and still said. */
export function approvedCredential(finding: Finding): Finding {
  const named = finding.check === 'credentials' && finding.level === 'fault';
  return named ? { ...finding, level: 'warning' } : finding;
}

/** Throws preflight_failed where a finding is a fault; each is a line with its mend. */
export function assertNoFault(findings: readonly Finding[]): void {
  const faults = findings.filter(({ level }) => level === 'fault');
  if (faults.length === 0) return;
  throw new WraptoolError(
    'preflight_failed',
    'the harness was not started: a check inside the runtime failed',
    {
      problems: faults.map(findingLine),
      hint: 'mend what each line names, then start again',
    },
  );
}

export function findingLine({ check, detail, mend }: Finding): string {
  return `${check}: ${detail} (${mend})`;
}

/** What is not a list of findings is none: whoever made it is not the program that was started. */
function parse(text: string): readonly Finding[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isFinding) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isFinding(value: unknown): value is Finding {
  const { check, level, detail, mend } = (value ?? {}) as Record<string, unknown>;
  return (
    [check, detail, mend].every((word) => typeof word === 'string') &&
    ['fault', 'warning', 'note'].includes(level as string)
  );
}

function unable(code: number | null, said: string): Finding {
  return {
    check: 'runtime',
    level: 'fault',
    detail: `the checks did not run inside (${howEnded(code)}): ${said.split('\n')[0]?.slice(0, 500) ?? ''}`,
    mend:
      code === null
        ? 'look at what the machine is busy with, and try again'
        : 'a base image needs glibc; report this if it has it',
  };
}
