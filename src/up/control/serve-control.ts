/**
 * The control socket of a gateway that `serve --name NAME` runs: NAME.sock beside the sessions' folders. It restarts
 * nothing itself: its unit is the host's service manager's.
 */
import { mkdir, rm } from 'node:fs/promises';
import { assertOperatorsOwn } from '../../config/location.ts';
import { WraptoolError } from '../../errors.ts';
import { sessionsDir } from '../../paths.ts';
import { health } from '../../restart/health.ts';
import { markersOf, recordNamespace } from '../../restart/store.ts';
import { systemctl } from '../../supervise/systemctl.ts';
import { armingOf } from '../arming.ts';
import { Audit } from '../audit.ts';
import { checkName } from '../session-name.ts';
import { listSessions } from '../session.ts';
import { keptBucket } from './kept-bucket.ts';
import { answers, serveSocket } from './line.ts';
import { restartHandler } from './restart-server.ts';
import { openControl, type Control } from './server.ts';
import { Turns } from './turns.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type ServeControlOptions = {
  readonly name: string;
  readonly env: Env;
  /** Folder of the log. */
  readonly log: string;
  readonly note: (text: string) => void;
  readonly fault: (error: unknown) => void;
};

/** Records the namespace and answers `restart` for it. Errors: usage; address_in_use where one of that name runs. */
export async function openServeControl({
  name,
  env,
  log,
  note,
  fault,
}: ServeControlOptions): Promise<Control> {
  checkName(name);
  const dir = sessionsDir(env);
  await assertOperatorsOwn(dir, 'state');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = serveSocket(dir, name);
  const sessions = await listSessions(env);
  if (sessions.some(({ session, alive }) => alive && session?.state.name === name))
    throw new WraptoolError('address_in_use', `there is a session "${name}" already`, {
      hint: 'choose another --name',
    });
  if (await answers(file))
    throw new WraptoolError('address_in_use', `a gateway named "${name}" runs already`, {
      hint: 'choose another --name',
    });
  await recordNamespace(env, { name, kind: 'serve' }, new Date());
  await rm(file, { force: true });
  const audit = new Audit(log, null);
  const handler = restartHandler({
    name,
    sessionId: null,
    env,
    arming: armingOf(env, false),
    audit,
    turns: new Turns({ kept: keptBucket(dir, name) }),
    note,
    act: async (hook, mode, server) => {
      // The gates let no other hook through for this kind of namespace, and know no server in it.
      if (hook.kind !== 'systemd' || server !== null)
        throw new WraptoolError('internal', `the hook does not fit "${name}"`);
      await systemctl(mode, hook.unit, env);
      return { result: 'requested', reason: null, detail: null };
    },
    health: async () => {
      const markers = await markersOf(env, name);
      return health({ namespace: name, down: null, proof: null, markers, exempt: true });
    },
  });
  const control = await openControl(file, { restart: handler }, fault);
  return {
    close: async () => {
      await control.close();
      await audit.close();
    },
  };
}
