/** A call that the config denies and a grant allows. */
import type { Policy } from '../policy/compile.ts';
import type { Allowed, Decision, Denied } from '../policy/types.ts';
import type { RequestBook } from '../requests/book.ts';
import type { Active } from './active.ts';
import type { Log } from '../log/append.ts';
import { logDecided } from './records.ts';

type Stages = { readonly active: () => Active; readonly requests: RequestBook; readonly log: Log };

/**
 * The decision by the first grant that allows the call, logged; null where there is none. The log is looked at first:
 * what was granted or revoked a moment ago counts.
 */
export async function grantedCall(
  { active, requests, log }: Stages,
  { snapshot }: Active,
  seq: string,
  denied: Denied,
  cwd: string | null,
  decide: (policy: Policy) => Decision,
): Promise<Allowed | null> {
  // A deny rule beats a grant, and nothing beats what was said of the call's own form or folder.
  if (denied.reason === 'denied_by_rule' || !requests.worthLooking()) return null;
  await requests.refresh();
  const { overlays, snapshot: now, scrub } = active();
  // A call ends under the config that it began with: its program was resolved by that.
  if (now !== snapshot) return null;
  for (const { grant, policy } of overlays) {
    const decision = decide(policy);
    if (decision.decision === 'deny') continue;
    // The rule is the grant's: it stands in no file.
    const write = (left: number | null) =>
      logDecided(log, scrub, {
        seq,
        decision: { ...decision, rule: null },
        cwd,
        config: snapshot.hash,
        grant: { id: grant.id, left },
      });
    if (await requests.use(grant.id, write)) return decision;
  }
  return null;
}
