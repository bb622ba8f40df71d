/** PURE: how a gateway ended, from what its supervisor knows. */

export type GatewayEnd = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Of an orderly end: a signal's name where a signal asked for it; null where it said nothing. */
  readonly cause: string | null;
};

/** `killed`: by a signal that the supervisor did not send. */
export type EndKind = 'asked' | 'killed' | 'out_of_memory' | 'crashed';

export function kindOf(
  { signal, cause }: GatewayEnd,
  known: {
    /** The supervisor sent it a signal, or had it leave. */
    readonly asked: boolean;
    /** Processes that the kernel ended for want of memory since it was last looked. */
    readonly memoryKills: number;
  },
): EndKind {
  if (known.asked) return 'asked';
  if (signal === 'SIGKILL' && known.memoryKills > 0) return 'out_of_memory';
  return signalOf({ signal, cause }) === null ? 'crashed' : 'killed';
}

/** The signal by which it ended, at once or in order. */
export function signalOf({ signal, cause }: Pick<GatewayEnd, 'signal' | 'cause'>): string | null {
  return signal ?? (cause !== null && /^SIG[A-Z0-9]+$/.test(cause) ? cause : null);
}

/** One line for people. */
export function endLine(end: GatewayEnd, kind: EndKind): string {
  if (kind === 'out_of_memory') return 'ended by the kernel, which was out of memory (SIGKILL)';
  const name = signalOf(end);
  return name === null ? `ended with exit code ${end.code}` : `killed by ${name}`;
}
