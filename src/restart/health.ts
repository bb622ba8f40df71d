/** PURE: what may be claimed of a gateway, from what was seen of it. */
import type { Marker } from './types.ts';

/** How a gateway was looked at. Only from inside the runtime is it the harness's own way. */
export type ProbeSource = 'client_namespace' | 'host' | 'static';

export type Proof = {
  readonly source: ProbeSource;
  readonly ok: boolean;
  /** What was missing; empty where nothing was. */
  readonly reasons: readonly string[];
};

export type Health = {
  readonly namespace: string;
  readonly status: 'clean' | 'unproven' | 'unhealthy';
  /** Null where nobody has looked since it started. */
  readonly probe_source: ProbeSource | null;
  readonly clean_claim_allowed: boolean;
  /** Whether calls that change something run. */
  readonly mutations_allowed: boolean;
  readonly reasons: readonly string[];
};

export type HealthFacts = {
  readonly namespace: string;
  /** Why there is no gateway; null where there is one. */
  readonly down: string | null;
  readonly proof: Proof | null;
  /** Live markers of the namespace. */
  readonly markers: readonly Marker[];
  /** A restart is under way. */
  readonly quiescing?: boolean;
  /** A bare gateway has no runtime to be proven from. */
  readonly exempt?: boolean;
};

export function health({
  namespace,
  down,
  proof,
  markers,
  exempt = false,
  quiescing = false,
}: HealthFacts): Health {
  const contaminated = markers.map(({ at, reason }) => `contaminated at ${at}: ${reason}`);
  const held = quiescing
    ? ['quiescing: a restart is under way, and nothing new that changes something runs']
    : [];
  const reasons = [...(down === null ? [] : [down]), ...contaminated, ...unproven(proof), ...held];
  const status = statusOf(down, proof, contaminated.length > 0);
  return {
    namespace,
    status,
    probe_source: proof?.source ?? null,
    clean_claim_allowed: status === 'clean',
    mutations_allowed:
      !quiescing && (status === 'clean' || (exempt && down === null && contaminated.length === 0)),
    reasons,
  };
}

function statusOf(down: string | null, proof: Proof | null, contaminated: boolean): Health['status'] {
  if (down !== null) return 'unhealthy';
  if (proof?.source !== 'client_namespace') return 'unproven';
  if (!proof.ok) return 'unhealthy';
  return contaminated ? 'unproven' : 'clean';
}

function unproven(proof: Proof | null): readonly string[] {
  if (proof === null) return ['no probe from inside the runtime since it started'];
  if (!proof.ok) return proof.reasons;
  return proof.source === 'client_namespace' ? [] : [`the probe was no client's: ${proof.source}`];
}
