/** What a route of the page's API is, and what it may look at. */
import type { Snapshot } from '../config/types.ts';
import { actionOf, mayDo, type Role } from '../restart/actions.ts';
import type { Answer, Preview } from '../restart/preview.ts';
import type { Principal } from '../restart/principal.ts';
import type { RestartRequest } from '../restart/gate.ts';
import type { Desk } from '../requests/desk.ts';
import { WebRefusal } from './refusal.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Restarts as the command line asks for them: judged by the supervisor, never here. */
export type Restarts = {
  preview(request: Omit<RestartRequest, 'confirm'>, principal: Principal): Promise<Preview>;
  ask(request: RestartRequest, principal: Principal): Promise<Answer>;
};

export type Office = {
  readonly desk: Desk;
  /** Folder of the log. */
  readonly dir: string;
  /** The config, as it was named. */
  readonly config: string;
  readonly load: () => Promise<Snapshot>;
  readonly env: Env;
  readonly restarts: Restarts;
};

export type Visit = {
  readonly role: Role;
  /** What the pattern's groups took. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  /** An object, for a POST. */
  readonly body: Readonly<Record<string, unknown>>;
};

export type Route = {
  readonly method: 'GET' | 'POST';
  /** Of the whole path behind `api/`. */
  readonly path: RegExp;
  /** Of the one table of actions: it says which role is enough. */
  readonly action: string;
  readonly run: (office: Office, visit: Visit) => Promise<unknown>;
};

/** Throws WebRefusal 403. */
export function assertMay(role: Role, action: string): void {
  if (!mayDo(role, actionOf(action)))
    throw new WebRefusal(403, 'read_only', 'this login may look, and change nothing');
}

/** A string of the body. Throws WebRefusal 400. */
export function stringOf(body: Visit['body'], name: string, longest = 4_000): string {
  const value = body[name];
  if (typeof value === 'string' && value.length <= longest) return value;
  throw new WebRefusal(400, 'body_invalid', `"${name}" must be a text of at most ${longest} characters`);
}
