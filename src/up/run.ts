/** The path of `wraptool up`: descriptor → config → runtime → gateway → attach → teardown. */
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkLocations, loadConfig } from '../config/load.ts';
import type { Snapshot } from '../config/types.ts';
import { loadDescriptor, type Descriptor } from '../harness/descriptor.ts';
import { inject } from '../harness/inject.ts';
import { provide, plannedInstall } from '../harness/provide.ts';
import { writeHome } from '../harness/seed.ts';
import type { Injection, Provided } from '../harness/types.ts';
import { homeDir, sessionsDir, stateDir, configDir } from '../paths.ts';
import { startGateway, type Gateway } from '../supervise/supervisor.ts';
import { chooseRuntime, parseRuntime, type Choice } from './choose.ts';
import { recall, remember } from './memory.ts';
import { baseEnv, homePath, newToken, pickHarnessEnv, plan } from './plan.ts';
import { confirmRemotes, type Ask } from './remotes.ts';
import { inside, type Description, type LaunchSpec, type Running, type Stdio } from './runtime/runtime.ts';
import { createSession, proposeName, checkName, type Session } from './session.ts';
import { Teardown } from './teardown.ts';
import { resolveWorkspace, type Workspace } from './workspace.ts';

export type UpOptions = {
  readonly harness: string;
  readonly runtime?: string | undefined;
  readonly workspace?: string | undefined;
  readonly name?: string | undefined;
  readonly home?: string | undefined;
  readonly config?: string | undefined;
  readonly harnessVersion?: string | undefined;
  readonly yolo: boolean;
  readonly args: readonly string[];
};

/** What `up` needs of the outside world; the CLI hands it in. */
export type UpWorld = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly main: string;
  /** Runs one named step with progress. */
  step<T>(title: string, work: (say: (message: string) => void) => Promise<T>): Promise<T>;
  note(text: string): void;
  warn(text: string): void;
  /** Asks the operator yes or no; null where nobody can be asked. */
  readonly ask: Ask | null;
  readonly stdio: Stdio;
};

/** Folder inside where the generated client configuration is seen. */
const filesInside = '/opt/wraptool/files';

type Ground = {
  readonly snapshot: Snapshot;
  readonly workspace: Workspace;
  readonly descriptor: Descriptor;
  readonly choice: Choice;
  readonly home: string;
};

/** Everything that is decided before anything is made. */
async function survey(options: UpOptions, world: UpWorld): Promise<Ground> {
  if (options.name !== undefined) checkName(options.name);
  const asked = options.runtime === undefined ? null : parseRuntime(options.runtime);
  const descriptor = await loadDescriptor(options.harness, world.env);
  const workspace = await resolveWorkspace({
    flag: options.workspace,
    cwd: world.cwd,
    home: homeDir(world.env),
    stateDirs: [stateDir(world.env), sessionsDir(world.env), configDir(world.env)],
  });
  const home = homePath(world.env, options.harness, workspace.path, options.home);
  const snapshot = await loadConfig({ path: options.config, env: world.env });
  const roots = [workspace.path, ...snapshot.config.up.extra_roots];
  await checkLocations(snapshot, [...roots, home], [sessionsDir(world.env)]);
  const last = (await recall(world.env, workspace.path)).runtime;
  const choice = await chooseRuntime(
    asked ?? parseRuntime(snapshot.config.up.runtime),
    last,
    snapshot.config.up.base_image,
  );
  return { snapshot, workspace, descriptor, choice, home };
}

/** What would run, secrets masked; nothing is made and nothing is installed. */
export async function describeUp(options: UpOptions, world: UpWorld): Promise<Description> {
  const ground = await survey(options, world);
  const name = options.name ?? proposeName(options.harness, ground.workspace.path);
  const dir = path.join(sessionsDir(world.env), name);
  const provided = plannedInstall(ground.descriptor, { version: options.harnessVersion, env: world.env });
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
      argv: ['wraptool', 'serve', '--session', name, '--config', ground.snapshot.file, '--json'],
    },
    ...(await ground.choice.runtime.describe(spec)),
  ];
}

function injected(options: UpOptions, world: UpWorld, ground: Ground, token: string): Injection {
  return inject(ground.descriptor, {
    workspace: ground.workspace.path,
    env: { ...baseEnv(world.env, token), ...pickHarnessEnv(ground.snapshot.config, world.env) },
    args: options.args,
    yolo: options.yolo,
    inside: { ...inside, files: filesInside },
  });
}

function specify(
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
    relayDir: fileURLToPath(new URL('../relay', import.meta.url)),
    provided,
    injection,
    token,
  });
}

/** Runs the harness and returns its exit code, or 128+n where a signal ended the session. */
export async function up(options: UpOptions, world: UpWorld): Promise<number> {
  const teardown = new Teardown((what, error) =>
    world.warn(`${what}: ${error instanceof Error ? error.message : String(error)}`),
  );
  const ending = listenForEnd();
  teardown.push('signal handlers', async () => ending.release());
  try {
    const ground = await world.step('checks', async (say) => {
      const found = await survey(options, world);
      say(`${found.choice.runtime.name}: ${found.choice.why}`);
      return found;
    });
    const remotes = await confirmRemotes(world, ground.workspace.path, ground.snapshot.config);
    const provided = await world.step(`harness ${options.harness}`, (say) =>
      provide(ground.descriptor, {
        version: options.harnessVersion,
        env: world.env,
        confineInstall: ground.snapshot.config.up.confine_install,
        progress: say,
        signal: ending.signal,
      }),
    );
    const session = await createSession(
      world.env,
      { given: options.name, proposed: proposeName(options.harness, ground.workspace.path) },
      {
        harness: options.harness,
        runtime: ground.choice.runtime.name,
        workspace: ground.workspace.path,
        roots: [ground.workspace.path, ...ground.snapshot.config.up.extra_roots],
        owner: { uid: ground.workspace.uid, gid: ground.workspace.gid },
        config: ground.snapshot.file,
        remotes,
      },
    );
    teardown.push('session folder', () => session.remove());
    const token = newToken();
    await world.step('gateway', () => gateway(session, ground, world, token, teardown));
    const injection = injected(options, world, ground, token);
    await writeFiles(session, ground, world, injection);
    const spec = specify(
      ground,
      world,
      { name: session.state.name, id: session.state.id, dir: session.dir },
      session.filesDir,
      provided,
      injection,
      token,
    );
    const started = await world.step(`runtime ${ground.choice.runtime.name}`, (say) =>
      ground.choice.runtime.prepare(spec, say, ending.signal),
    );
    teardown.push(`runtime ${ground.choice.runtime.name}`, () => started.stop());
    await session.update({ status: 'running', facts: started.facts });
    await remember(world.env, ground.workspace.path, { runtime: ground.choice.runtime.name });
    ending.signal.throwIfAborted();
    return await attend(await started.run(world.stdio), ending);
  } catch (error) {
    if (ending.code !== null) return ending.code;
    throw error;
  } finally {
    await teardown.run();
  }
}

async function gateway(
  session: Session,
  ground: Ground,
  world: UpWorld,
  token: string,
  teardown: Teardown,
): Promise<void> {
  const started: Gateway = await startGateway({
    name: session.state.name,
    dir: session.dir,
    config: ground.snapshot.file,
    token,
    env: world.env,
    logFile: path.join(session.dir, 'gateway.log'),
    main: world.main,
  });
  let asked = false;
  teardown.push('gateway', () => {
    asked = true;
    return started.stop();
  });
  await session.update({ gateway: started.ref });
  started.ended
    .then(async (end) => {
      if (!asked)
        await session.update({ gateway: null, gatewayFault: end.signal ?? `exit code ${end.code}` });
    })
    .catch((error: unknown) => world.warn(`the gateway's end could not be recorded: ${String(error)}`));
}

/** Generated files: the client's configuration for this run, and first-run state in the harness HOME. */
async function writeFiles(
  session: Session,
  ground: Ground,
  world: UpWorld,
  injection: Injection,
): Promise<void> {
  const owner = { uid: ground.workspace.uid, gid: ground.workspace.gid };
  const foreign = process.getuid?.() === 0 && owner.uid !== 0;
  await mkdir(ground.home, { recursive: true, mode: 0o700 });
  await chmod(ground.home, 0o700);
  if (foreign) await chown(ground.home, owner.uid, owner.gid);
  const seeds = injection.files.filter((file) => file.where === 'home');
  for (const remark of await writeHome(ground.home, seeds, owner)) world.note(remark);
  for (const file of injection.files.filter((entry) => entry.where === 'session')) {
    const target = path.join(session.filesDir, file.path);
    await writeFile(target, file.content, { mode: 0o600, flag: 'wx' });
    if (foreign) await chown(target, owner.uid, owner.gid);
  }
}

type Ending = {
  readonly signal: AbortSignal;
  /** 128+n once a signal has come. */
  readonly code: number | null;
  release(): void;
};

/** SIGTERM, SIGHUP and (before the terminal is the harness's) SIGINT end the session in order. */
function listenForEnd(): Ending {
  const controller = new AbortController();
  let code: number | null = null;
  const names = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
  const handlers = names.map((name) => {
    const handler = () => {
      code ??= 128 + constants.signals[name];
      controller.abort(new Error(`ended by ${name}`));
    };
    process.on(name, handler);
    return { name, handler };
  });
  return {
    signal: controller.signal,
    get code() {
      return code;
    },
    release: () => handlers.forEach(({ name, handler }) => process.off(name, handler)),
  };
}

/** Waits for the harness; a signal to us is passed on, and the session ends with it. */
async function attend(running: Running, ending: Ending): Promise<number> {
  const asked = new Promise<'asked'>((resolve) =>
    ending.signal.addEventListener('abort', () => resolve('asked'), { once: true }),
  );
  const first = await Promise.race([running.exit, asked]);
  if (first !== 'asked') return first;
  await running.kill('SIGTERM');
  const grace = new Promise<void>((resolve) => setTimeout(resolve, 2000).unref());
  await Promise.race([running.exit, grace]);
  return ending.code ?? 1;
}
