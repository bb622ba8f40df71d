/**
 * Is a command, as it is proposed, a manual kill of a gateway? The shell's own syntax is parsed and followed; nothing
 * is ever run, read or looked up.
 */
import { outside } from './holes.ts';
import { Machine, newShell } from './machine.ts';
import { redactCommand } from './redact.ts';
import type { Known, ReasonClass } from './types.ts';
import { mentionsKill } from './verbs/names.ts';
import { connect } from './walk.ts';

export type Classification = {
  /** It would send a signal that can end some process, or stop its unit or container. */
  readonly process_kill: boolean;
  /** It would, or might, hit a gateway or its session's container. */
  readonly contamination: boolean;
  /** Neither a kill nor contaminating. */
  readonly sanctioned: boolean;
  /** Whether a gateway may still be called clean after it. */
  readonly clean_claim_allowed: boolean;
  /** Why it counts; null exactly when it does not contaminate. */
  readonly reason_class: ReasonClass | null;
  /** The command with its secrets replaced by `[redacted]`. */
  readonly redacted_command: string;
  /** The reason code that a restart is refused with once it has happened. */
  readonly contamination_marker: 'contaminated_runtime' | null;
  /** What to do instead. */
  readonly sanctioned_alternative: string | null;
};

/** Longest command that is followed; a longer one counts as a kill where it holds a kill's word. */
const longest = 16 * 1024;
export function classify(command: string, known: Known): Classification {
  const m = new Machine(known);
  if (command.length > longest) m.incomplete = true;
  else {
    connect(m);
    m.text(outside(command), newShell(), { rest: m.holes.unknown });
  }
  if (m.incomplete && mentionsKill(command) && !m.findings.some(({ reason }) => reason !== null))
    m.hit(newShell(), 'indirect');
  const reasons = m.findings.flatMap(({ reason }) => reason ?? []);
  // What can be named is better than what can't be read.
  const reason = reasons.find((one) => one !== 'indirect') ?? reasons[0] ?? null;
  const contamination = reason !== null;
  const kills = m.findings.length > 0;
  return {
    process_kill: kills,
    contamination,
    sanctioned: !kills && !contamination,
    clean_claim_allowed: !contamination,
    reason_class: reason,
    redacted_command: redactCommand(command),
    contamination_marker: contamination ? 'contaminated_runtime' : null,
    sanctioned_alternative: contamination ? 'wraptool restart NAMESPACE --confirm "restart NAMESPACE"' : null,
  };
}
