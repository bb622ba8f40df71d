/** PURE: what would be done, step by step, before anything is. */
import type { Mode } from './types.ts';

export type LedgerStep = {
  /** From 1. */
  readonly sequence: number;
  readonly step: 'quiesce' | 'host_restart_hook' | 'host_graceful_reload' | 'health_recheck' | 'audit';
  readonly summary: string;
  readonly executes_process_kill: false;
};

const hostStep: Readonly<Record<Mode, readonly [LedgerStep['step'], string]>> = {
  restart: [
    'host_restart_hook',
    'the supervisor starts a new gateway, switches when it is ready, keeps the old one if it is not',
  ],
  reload: ['host_graceful_reload', 'the supervisor has the gateway read its config anew, in place'],
};

export function mutationLedger(mode: Mode, namespace: string): LedgerStep[] {
  const steps: readonly (readonly [LedgerStep['step'], string])[] = [
    ['quiesce', `"${namespace}" takes no new mutations; calls in flight end or time out`],
    hostStep[mode],
    ['health_recheck', 'a probe inside the runtime proves the gateway; until then it is unproven'],
    ['audit', 'actor, namespace, mode, result and reason code go to the log, whatever the outcome'],
  ];
  return steps.map(([step, summary], index) => ({
    sequence: index + 1,
    step,
    summary,
    executes_process_kill: false,
  }));
}
