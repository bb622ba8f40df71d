/** A session's supervisor put together: its namespace, its gateways, what it does when it is asked for a restart. */
import path from 'node:path';
import { markersOf, recordNamespace } from '../restart/store.ts';
import { systemctl } from '../supervise/systemctl.ts';
import type { Audit } from './audit.ts';
import type { RestartSupervisor } from './control/restart-server.ts';
import { Turns } from './control/turns.ts';
import { Gateways } from './gateways.ts';
import { sessionHealth } from './health.ts';
import type { UpWorld } from './options.ts';
import type { Session } from './session.ts';
import type { Ground } from './survey.ts';

/** It stays known, and what is known of it counts: a marker of an earlier session of that name holds this one back. */
export async function makeKnown(session: Session, world: UpWorld): Promise<void> {
  const { name } = session.state;
  await recordNamespace(world.env, { name, kind: 'session' }, new Date());
  const [marker] = await markersOf(world.env, name);
  if (marker !== undefined)
    world.warn(
      `"${name}" is contaminated since ${marker.at}: until "wraptool restart reconcile ${name} --note TEXT" only rules with read_only: true run`,
    );
}

export function gatewaysOf(
  session: Session,
  ground: Ground,
  world: UpWorld,
  token: string,
  audit: Audit,
): Gateways {
  return new Gateways({
    session,
    start: {
      name: session.state.name,
      dir: session.dir,
      config: ground.configFile,
      token,
      env: world.env,
      logFile: path.join(session.dir, 'gateway.log'),
      main: world.main,
    },
    policy: ground.snapshot.config.supervisor.restart,
    audit,
    warn: (text) => world.warn(text),
  });
}

export function restarting(
  session: Session,
  world: UpWorld,
  arming: RestartSupervisor['arming'],
  audit: Audit,
  gateways: Gateways,
): RestartSupervisor {
  const { env } = world;
  const { name, id } = session.state;
  return {
    name,
    sessionId: id,
    env,
    arming,
    audit,
    turns: new Turns(),
    unwritten: () => gateways.unwritten(),
    health: () => sessionHealth(env, session),
    note: (text) => world.note(text),
    act: async (hook, mode, server) => {
      if (server !== null && mode === 'reload')
        return { result: 'failed', reason: 'reload_not_possible', detail: 'a server can only be restarted' };
      if (server !== null) return gateways.restartServer(server);
      if (hook.kind === 'session') return gateways.restart(mode);
      await systemctl(mode, hook.unit, env);
      return { result: 'requested', reason: null, detail: null };
    },
  };
}
