/** From what was surveyed to what is launched, and to what --dry-run shows of it. */
import path from 'node:path';
import { inject } from '../harness/inject.ts';
import { plannedInstall } from '../harness/provide.ts';
import type { Injection, Provided } from '../harness/types.ts';
import { sessionsDir } from '../paths.ts';
import { codeFolder } from '../places.ts';
import type { UpOptions, UpWorld } from './options.ts';
import { baseEnv, newToken, pickHarnessEnv, plan } from './plan.ts';
import { inside, type Description, type LaunchSpec } from './runtime/runtime.ts';
import { proposeName } from './session.ts';
import { approvedFor, platformFor, survey, type Ground } from './survey.ts';

/** Folder inside where the generated client configuration is seen. */
const filesInside = '/opt/wraptool/files';

/** What would run, secrets masked; nothing is made and nothing is installed. */
export async function describeUp(options: UpOptions, world: UpWorld): Promise<Description> {
  const ground = await survey(options, world, await approvedFor(options, { ...world, approve: null }));
  const name = options.name ?? proposeName(options.harness, ground.workspace.path);
  const dir = path.join(sessionsDir(world.env), name);
  const provided = plannedInstall(ground.descriptor, {
    version: options.harnessVersion,
    platform: platformFor(ground),
    env: world.env,
  });
  const token = newToken();
  const injection = injected(options, world, ground, token);
  const spec = specify(
    ground,
    world,
    { name, id: '0'.repeat(16), dir },
    path.join(dir, 'files'),
    provided,
    injection,
    token,
  );
  return [
    ...injection.files.map((file) => ({
      what: `write ${file.where === 'home' ? path.join(ground.home, file.path) : path.join(dir, 'files', file.path)}`,
    })),
    {
      what: 'gateway',
      argv: [
        ...['wraptool', 'serve', '--session', name, '--config', ground.configFile],
        ...['--supervised', path.join(dir, 'gateway-1.sock'), '--json'],
      ],
    },
    ...(await ground.choice.runtime.describe(spec)),
  ];
}

export function injected(options: UpOptions, world: UpWorld, ground: Ground, token: string): Injection {
  return inject(ground.descriptor, {
    workspace: ground.workspace.path,
    env: { ...baseEnv(world.env, token), ...pickHarnessEnv(ground.snapshot.config, world.env) },
    args: options.args,
    yolo: options.yolo,
    inside: { ...inside, files: filesInside },
  });
}

export function specify(
  ground: Ground,
  world: UpWorld,
  session: LaunchSpec['session'],
  files: string,
  provided: Provided | null,
  injection: Injection,
  token: string,
): LaunchSpec {
  return plan({
    config: ground.snapshot.config,
    env: world.env,
    session,
    workspace: ground.workspace,
    home: ground.home,
    socketDir: path.join(session.dir, 'socket'),
    files: { host: files, inside: filesInside },
    relayDir: codeFolder('relay'),
    provided,
    injection,
    token,
    approved: ground.approved,
  });
}
