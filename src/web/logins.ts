/** Who may use the page: one-time links, the login tokens they are exchanged for, and how often one may guess. */
import { createHash, randomBytes } from 'node:crypto';
import type { Role } from '../restart/actions.ts';

export type Login = {
  /** For the page and the log: no credential. */
  readonly id: string;
  readonly role: Role;
  /** Aborted by logout, by expiry, and when the page ends. */
  readonly ended: AbortSignal;
};

export type Exchange =
  | { readonly kind: 'in'; readonly token: string; readonly login: Login }
  /** Wrong, used, or too old: which of them is told to nobody. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'too often'; readonly retryMs: number };

export type Logins = {
  /** A secret that is good for one login, for `linkLifeMs`. */
  invite(role: Role): string;
  exchange(secret: string): Exchange;
  /** The login of a token, which is used by it; null where there is none. */
  of(token: string): Login | null;
  end(token: string): void;
  close(): void;
};

export const loginLimits = {
  linkLifeMs: 10 * 60_000,
  /** Links that wait to be used; the oldest makes room. */
  links: 50,
  logins: 50,
  /** A login ends when it was not used for so long, and after so long in any case. */
  idleMs: 60 * 60_000,
  lifeMs: 12 * 3_600_000,
  /** Wrong secrets within the window, after which every wrong one is told to wait. */
  failures: 10,
  windowMs: 60_000,
} as const;

type Held = { readonly login: Login; readonly end: () => void; readonly born: number; used: number };

/** `now`: milliseconds of a clock that no change of the time moves. */
export function createLogins(now: () => number = () => performance.now()): Logins {
  const links = new Map<string, { readonly role: Role; readonly born: number }>();
  const logins = new Map<string, Held>();
  let failures: number[] = [];

  const alive = ({ born, used }: Held) =>
    now() - born < loginLimits.lifeMs && now() - used < loginLimits.idleMs;

  function drop(key: string): void {
    logins.get(key)?.end();
    logins.delete(key);
  }

  function sweep(): void {
    for (const [key, held] of logins) if (!alive(held)) drop(key);
    for (const [key, { born }] of links) if (now() - born >= loginLimits.linkLifeMs) links.delete(key);
    failures = failures.filter((at) => now() - at < loginLimits.windowMs);
  }

  const timer = setInterval(sweep, loginLimits.windowMs);
  timer.unref();

  function admit(role: Role): Exchange {
    while (logins.size >= loginLimits.logins) drop(logins.keys().next().value as string);
    const token = secret();
    const ending = new AbortController();
    const login = { id: randomBytes(4).toString('hex'), role, ended: ending.signal };
    logins.set(digest(token), { login, end: () => ending.abort(), born: now(), used: now() });
    return { kind: 'in', token, login };
  }

  return {
    invite(role) {
      sweep();
      while (links.size >= loginLimits.links) links.delete(links.keys().next().value as string);
      const made = secret();
      links.set(digest(made), { role, born: now() });
      return made;
    },
    exchange(given) {
      sweep();
      const key = digest(given);
      const link = links.get(key);
      if (link !== undefined) {
        links.delete(key);
        return admit(link.role);
      }
      // Only wrong ones wait: whoever shares the network could keep the operator out otherwise.
      const oldest = failures[0];
      if (failures.length >= loginLimits.failures && oldest !== undefined)
        return { kind: 'too often', retryMs: loginLimits.windowMs - (now() - oldest) };
      failures.push(now());
      return { kind: 'refused' };
    },
    of(token) {
      const held = logins.get(digest(token));
      if (held === undefined) return null;
      if (!alive(held)) {
        drop(digest(token));
        return null;
      }
      held.used = now();
      return held.login;
    },
    end: (token) => drop(digest(token)),
    close() {
      clearInterval(timer);
      links.clear();
      for (const key of [...logins.keys()]) drop(key);
    },
  };
}

/** 256 bits. */
const secret = (): string => randomBytes(32).toString('base64url');

/** Kept and looked up by digest: the time that it takes tells nothing of the secret. */
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
