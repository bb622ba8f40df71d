/** Grants in force as policies: what `--apply` would have written, in memory. */
import type { Snapshot } from '../config/types.ts';
import type { Policy } from '../policy/compile.ts';
import { policyOf, withRule } from './change.ts';
import type { Grant } from './types.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The config's policy with one grant in it. Deny rules are in it too, so none of them is beaten. */
export type Overlay = { readonly grant: Grant; readonly policy: Policy };

export type Granted = {
  readonly overlays: readonly Overlay[];
  /** With all of them, for what is listed; the config's own where there is none. */
  readonly listed: Policy;
};

/** A grant that the config as it is now can't take (its tool is gone, a deny rule came) allows nothing. */
export function overlay(snapshot: Snapshot, grants: readonly Grant[], env: Env): Granted {
  const ground = { snapshot, env };
  const overlays: Overlay[] = [];
  let text = snapshot.text;
  for (const grant of grants) {
    const alone = withRule(ground, snapshot.text, grant.rule);
    if (!alone.ok) continue;
    overlays.push({ grant, policy: policyOf(ground, alone.text) });
    const together = withRule(ground, text, grant.rule);
    if (together.ok) text = together.text;
  }
  return { overlays, listed: overlays.length === 0 ? snapshot.policy : policyOf(ground, text) };
}
