/** Requests and grants as the log has them. */
import type { AllowRequest } from '../edit/allow-request.ts';

/** What is asked for. `argv` (after the tool's name) where it is one refused call, else null. */
export type Capability = {
  readonly tool: string;
  readonly subcommand: readonly string[];
  readonly flags: readonly string[];
  readonly args: readonly string[] | null;
  readonly argv: readonly string[] | null;
};

export type Scope = 'apply' | 'once' | 'uses' | 'for' | 'session';
export type GrantScope = Exclude<Scope, 'apply'>;

export type Request = Capability & {
  readonly id: string;
  /** sha256 over what is asked: equal requests have equal digests. */
  readonly digest: string;
  /** ms since 1970. */
  readonly at: number;
  /** Name and id of the session; a bare gateway has an id only. */
  readonly session: string | null;
  readonly sessionId: string | null;
  /** seq of the refused call, and the folder that it was for. */
  readonly call: string | null;
  readonly cwd: string | null;
  readonly rationale: string;
  readonly enables: string | null;
  readonly client: string;
  readonly configFile: string | null;
  readonly status: 'pending' | 'approved' | 'denied';
  readonly decision: Decided | null;
  /** A change of the config that was begun: done if the file now has the hash `after`. */
  readonly begun: Begun | null;
};

export type Decided = {
  readonly at: number;
  readonly actor: string;
  /** Of an approval. */
  readonly scope: Scope | null;
  readonly verdict: 'allow' | 'deny' | null;
  readonly grant: string | null;
  /** Of an approval by `--apply`: hash of the config with it. */
  readonly config: string | null;
  /** Of a denial. */
  readonly reason: string | null;
};

export type Begun = {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly at: number;
  readonly actor: string;
  readonly verdict: 'allow' | 'deny' | null;
};

export type Grant = {
  /** `grt_` and 8 hex digits. */
  readonly id: string;
  readonly request: string | null;
  readonly actor: string;
  readonly why: string;
  readonly at: number;
  readonly session: string | null;
  readonly sessionId: string | null;
  readonly scope: GrantScope;
  /** ms since 1970; null: does not expire. */
  readonly expires: number | null;
  readonly uses: number | null;
  readonly used: number;
  readonly ended: { readonly at: number; readonly why: string } | null;
  readonly rule: AllowRequest;
};

export type GrantState = 'live' | 'used up' | 'expired' | 'revoked' | 'ended';

/** Whether a grant still allows anything, and if not, why. */
export function stateOf(grant: Grant, now: number): GrantState {
  if (grant.ended !== null) return grant.ended.why === 'revoked' ? 'revoked' : 'ended';
  if (grant.expires !== null && grant.expires <= now) return 'expired';
  if (grant.uses !== null && grant.used >= grant.uses) return 'used up';
  return 'live';
}

/** A pending request is shown as expired after this long: nobody waits for it any more. */
export const requestLifeMs = 24 * 3_600_000;

export const isExpired = (request: Request, now: number): boolean =>
  request.status === 'pending' && now - request.at > requestLifeMs;
