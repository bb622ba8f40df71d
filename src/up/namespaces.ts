/** What can be restarted, as far as the session folders and the recorded namespaces tell. */
import { loadConfig } from '../config/load.ts';
import { WraptoolError } from '../errors.ts';
import { findNamespaces, type Found } from '../restart/store.ts';
import type { Marker, Namespace } from '../restart/types.ts';
import { sessionsDir } from '../paths.ts';
import { answers, serveSocket } from './control/line.ts';
import { nameShape } from './session-name.ts';
import { listSessions, type Session } from './session.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type KnownNamespaces = {
  readonly namespaces: readonly Namespace[];
  readonly markers: readonly Marker[];
  /** Process ids of live gateways and supervisors. */
  readonly pids: readonly number[];
};

/** `note` is told of a live session whose servers can't be known. */
export async function knownNamespaces(env: Env, note: (text: string) => void): Promise<KnownNamespaces> {
  const sessions = await liveSessions(env);
  const recorded = await findNamespaces(env);
  const live = await Promise.all(sessions.map((session) => namespacesOf(env, session, note)));
  const all = [...live.flat(), ...recorded.map(kept)];
  const byName = new Map(all.toReversed().map((one) => [one.name, one]));
  return {
    namespaces: [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    markers: recorded.flatMap((one) => ('damaged' in one ? [one.damaged] : one.record.markers)),
    pids: sessions.flatMap(({ state: { gateway, supervisor } }) =>
      [supervisor.pid, gateway?.pid ?? []].flat(),
    ),
  };
}

/** Of one whose record can't be read only the name is known. */
function kept(one: Found): Namespace {
  if ('record' in one) return { name: one.name, kind: one.record.kind };
  return { name: one.name, kind: one.name.includes('/') ? 'server' : 'session' };
}

/** Name under which a supervisor of the namespace answers; null where there is none, or it is none's name. */
export async function supervisorOf(env: Env, namespace: string): Promise<string | null> {
  const parent = namespace.split('/')[0];
  const live = await liveSessions(env);
  if (parent === undefined || !nameShape.test(parent)) return null;
  const known =
    live.some(({ state }) => state.name === parent) || (await answers(serveSocket(sessionsDir(env), parent)));
  return known ? parent : null;
}

/** Sessions whose supervisor lives. */
async function liveSessions(env: Env): Promise<Session[]> {
  const found = await listSessions(env);
  return found.flatMap(({ session, alive }) => (alive && session !== null ? [session] : []));
}

/** The session's gateway, and the servers of its config. */
async function namespacesOf(
  env: Env,
  { state: { name, config } }: Session,
  note: (text: string) => void,
): Promise<Namespace[]> {
  const gateway: Namespace = { name, kind: 'session' };
  try {
    const { config: loaded } = await loadConfig({ path: config, env, locations: false });
    const servers = Object.keys(loaded.mcp_servers);
    return [gateway, ...servers.map((server): Namespace => ({ name: `${name}/${server}`, kind: 'server' }))];
  } catch (error) {
    if (!(error instanceof WraptoolError)) throw error;
    note(`the servers of "${name}" are not known: ${error.message}`);
    return [gateway];
  }
}
