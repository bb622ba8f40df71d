/** Composition root of the operator's page: listener, logins, API and the door for links, put together. */
import os from 'node:os';
import { mkdir } from 'node:fs/promises';
import { loadConfig } from '../config/load.ts';
import type { Snapshot } from '../config/types.ts';
import { Desk } from '../requests/desk.ts';
import type { Role } from '../restart/actions.ts';
import { listRequests, requestRoutes } from './api/requests.ts';
import { flat, logRoutes } from './api/log.ts';
import { restartRoutes } from './api/restart.ts';
import { ruleRoutes } from './api/rules.ts';
import { sessionRoutes } from './api/sessions.ts';
import { loadAssets } from './assets.ts';
import { openDoor, type Invitation } from './door.ts';
import { openPage } from './http.ts';
import { createLive } from './live.ts';
import { createLogins } from './logins.ts';
import type { Office, Restarts } from './route.ts';
import { createScrub } from './scrubbed.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type AdminOptions = {
  readonly snapshot: Snapshot;
  /** The file of the snapshot, as it was named. */
  readonly configFile: string;
  readonly env: Env;
  /** Name of the session, null for a bare gateway. */
  readonly session: string | null;
  readonly restarts: Restarts;
  readonly fault: (error: unknown) => void;
};

export type Admin = {
  /** Where it is, without a secret. */
  readonly url: string;
  /** A new one-time link. */
  invite(role: Role): Invitation;
  close(): Promise<void>;
};

/** Throws WraptoolError address_in_use, gateway_failed, unsafe_location. Null where the config has no `admin`. */
export async function openAdmin(options: AdminOptions): Promise<Admin | null> {
  const { snapshot, configFile, env, session, fault } = options;
  const { admin, requests } = snapshot.config;
  if (admin === null) return null;
  const dir = requests.log;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const desk = new Desk({ dir, config: configFile, env, actor: `${os.userInfo().username} (web page)` });
  // Read once now: the first view need not wait for a long log.
  await desk.ledger();
  const scrub = createScrub(snapshot.config, env);
  const logins = createLogins();
  const office: Office = {
    desk,
    dir,
    config: configFile,
    load: () => loadConfig({ path: configFile, env, locations: false }),
    env,
    restarts: options.restarts,
  };
  const live = createLive({
    dir,
    list: async () => scrub(await listRequests(desk)),
    recordOf: (entry) => scrub(flat(entry)),
    fault,
  });
  const page = await openPage({
    listen: admin.listen,
    assets: await loadAssets(),
    logins,
    routes: [...requestRoutes, ...ruleRoutes, ...sessionRoutes, ...logRoutes, ...restartRoutes],
    office,
    live,
    scrub,
    fault,
  });
  const invite = (role: Role): Invitation => ({
    url: `${page.url}#login=${logins.invite(role)}`,
    role,
    session,
    config: configFile,
    pid: process.pid,
  });
  const closeDoor = await openDoor(env, invite, fault);
  let closing: Promise<void> | null = null;
  return {
    url: page.url,
    invite,
    close() {
      closing ??= (async () => {
        logins.close();
        await closeDoor();
        await page.close();
      })();
      return closing;
    },
  };
}
