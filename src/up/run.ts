/** The path of `wraptool up`: survey → harness → session → gateway → client configuration → runtime → attach → teardown. */
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { provide } from '../harness/provide.ts';
import { writeHome } from '../harness/seed.ts';
import type { Injection } from '../harness/types.ts';
import { startGateway, type Gateway } from '../supervise/supervisor.ts';
import { attend, listenForEnd } from './ending.ts';
import { remember } from './memory.ts';
import type { UpOptions, UpWorld } from './options.ts';
import { newToken } from './plan.ts';
import { confirmRemotes } from './remotes.ts';
import { createSession, proposeName, type Session } from './session.ts';
import { repositoryBeyond } from './runtime/mounts.ts';
import { reclaimDead } from './sessions.ts';
import { injected, specify } from './specify.ts';
import { approvedFor, platformFor, survey, type Ground } from './survey.ts';
import { Teardown } from './teardown.ts';

/** Runs the harness and returns its exit code, or 128+n where a signal ended the session. */
export async function up(options: UpOptions, world: UpWorld): Promise<number> {
  const teardown = new Teardown((what, error) =>
    world.warn(`${what}: ${error instanceof Error ? error.message : String(error)}`),
  );
  const ending = listenForEnd();
  teardown.push('signal handlers', async () => ending.release());
  try {
    const approved = await approvedFor(options, world);
    const ground = await world.step('checks', async (say) => {
      const found = await survey(options, world, approved);
      say(`${found.choice.runtime.name}: ${found.choice.why}`);
      return found;
    });
    await reclaimed(world);
    const shared = await repositoryBeyond(ground.workspace);
    const remotes = await confirmRemotes(world, ground.workspace.path, shared, ground.snapshot.config);
    const provided = await world.step(`harness ${options.harness}`, (say) =>
      provide(ground.descriptor, {
        version: options.harnessVersion,
        platform: platformFor(ground),
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
        shared,
      },
    );
    let inRuntime = false;
    teardown.push('session folder', async () => {
      if (!inRuntime) return session.remove();
      await session.update({ gateway: null });
      world.warn(`what is left of "${session.state.name}" is for the next "wraptool ps" to remove`);
    });
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
    inRuntime = true;
    teardown.push(`runtime ${ground.choice.runtime.name}`, async () => {
      await started.stop();
      inRuntime = false;
    });
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

/** What dead sessions left goes first: one may have the name, or the container's name, that this one wants. */
async function reclaimed(world: UpWorld): Promise<void> {
  for (const line of await reclaimDead(world.env, (error) => world.warn(error.message))) world.note(line);
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
    config: ground.configFile,
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
