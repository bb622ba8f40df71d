/** Who asks: known from the connection, never from what is sent over it. */
import type { Role } from './actions.ts';

export type Principal = {
  /** For the log: `uid:1000`, `web:operator`. */
  readonly actor: string;
  readonly role: Role | null;
};

/** From the uid of the process at the other end of the control socket; null where the system gave none. */
export function principalOfPeer(peer: number | null, owner: number): Principal {
  if (peer === null) return { actor: 'unknown', role: null };
  return { actor: `uid:${peer}`, role: peer === owner || peer === 0 ? 'operator' : null };
}

/** From a login of the web page; null where there is none. */
export function principalOfLogin(login: Role | null): Principal {
  return login === null ? { actor: 'web:unknown', role: null } : { actor: `web:${login}`, role: login };
}

/**
 * Of a request that a process passes on for a login of its page. `login` is what that process says: it can take from what
 * the process itself may do, never add to it.
 */
export function principalOfPassedOn(peer: Principal, login: unknown): Principal {
  const role = login === 'operator' || login === 'viewer' ? login : null;
  const { actor } = principalOfLogin(role);
  return { actor: `${peer.actor} ${actor}`, role: role === 'operator' ? peer.role : peer.role && role };
}
