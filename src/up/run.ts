/**
 * The path of `wraptool up`: survey → harness → session → gateway, and meanwhile client configuration → runtime → checks
 * inside → attach → teardown.
 */
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { WraptoolError } from '../errors.ts';
import { provide } from '../harness/provide.ts';
import { writeHome } from '../harness/seed.ts';
import type { Injection } from '../harness/types.ts';
import { announceRequests } from './announce.ts';
import { lookAt } from './aftermath/look.ts';
import { changedLines } from './aftermath/tell.ts';
import { armed, armingOf } from './arming.ts';
import { Audit } from './audit.ts';
import { openSessionControl } from './control/session-control.ts';
import { attend, listenForEnd, unlessEnded } from './ending.ts';
import type { Gateways } from './gateways.ts';
import { remember } from './memory.ts';
import type { UpOptions, UpWorld } from './options.ts';
import { newToken } from './plan.ts';
import { assertNoFault, findingLine, preflight, type Finding } from './preflight.ts';
import { proofOfFindings } from './probe.ts';
import { confirmRemotes } from './remotes.ts';
import { openEvents, recordEvent } from './session-events.ts';
import { createSession, listSessions, proposeName, type Session } from './session.ts';
import { repositoryBeyond } from './runtime/mounts.ts';
import type { LaunchSpec, Progress, Started } from './runtime/runtime.ts';
import { reclaimDead } from './sessions.ts';
import { injected, specify } from './specify.ts';
import { gatewaysOf, makeKnown, restarting } from './supervision.ts';
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
        home: ground.home,
        log: ground.snapshot.config.requests.log,
        network: ground.snapshot.config.up.network,
        shared,
      },
    );
    openEvents(session.dir);
    const record = (what: string, detail?: unknown): void => recordEvent(session.dir, what, detail);
    record('session', { id: session.state.id, runtime: session.state.runtime });
    let inRuntime = false;
    teardown.push('session folder', async () => {
      if (!inRuntime) return session.remove();
      await session.update({ gateway: null });
      world.warn(`what is left of "${session.state.name}" is for the next "wraptool ps" to remove`);
    });
    const control = await openSessionControl(session, (error) =>
      world.warn(
        `a request to the session failed: ${error instanceof Error ? error.message : String(error)}`,
      ),
    );
    teardown.push('control socket', () => control.close());
    const token = newToken();
    const audit = new Audit(ground.snapshot.config.requests.log, session.state.name);
    teardown.push('audit', () => audit.close());
    const gateways = gatewaysOf(session, ground, world, token, audit);
    teardown.push('gateway', () => gateways.close());
    await makeKnown(session, world);
    const gitFolders = shared.filter(({ writable }) => writable).map((folder) => folder.path);
    // It comes up while the runtime does; what fails of it ends that, and is what the operator is told.
    const noGateway = new AbortController();
    const gateway = gateways.start();
    gateway.catch((error: unknown) => noGateway.abort(error));
    const before = await lookAt(ground.workspace.path, gitFolders);
    teardown.push('what changed', async () => {
      const after = await lookAt(ground.workspace.path, gitFolders);
      for (const line of changedLines(before, after)) world.note(line);
    });
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
    const halt = AbortSignal.any([ending.signal, noGateway.signal]);
    halt.throwIfAborted();
    const started = await world.step(`runtime ${ground.choice.runtime.name}`, (say) =>
      prepared(ground, spec, say, halt),
    );
    inRuntime = true;
    teardown.push(`runtime ${ground.choice.runtime.name}`, async () => {
      await started.stop();
      inRuntime = false;
    });
    await session.update({ facts: started.facts });
    const expected = gateway.then(() => gateways.expected());
    const findings = preflight(started, spec, world, ground.snapshot.config.up.harness_env, expected);
    // Where there is no gateway, that is told.
    findings.catch(() => undefined);
    await world.step('gateway', () => unlessEnded(ending.signal, gateway));
    await session.update({ status: 'running' });
    await remember(world.env, ground.workspace.path, { runtime: ground.choice.runtime.name });
    ending.signal.throwIfAborted();
    gateways.ready(started, spec);
    await world.step('checks inside', async () =>
      judge(await unlessEnded(ending.signal, findings), session, world, gateways),
    );
    const arming = armingOf(world.env, options.allowRestart ?? false);
    control.ready(started, spec, restarting(session, world, arming, audit, gateways));
    world.note(armed(arming));
    ending.signal.throwIfAborted();
    await servePage(session, ground, world, teardown);
    const release = announceRequests({
      dir: ground.snapshot.config.requests.log,
      sessionId: session.state.id,
      announce: (id) => world.attention(id),
      fault: (error) => world.warn(`requests are not announced: ${String(error)}`),
    });
    teardown.push('requests', async () => release());
    record('harness', { command: spec.command });
    const code = await attend(await started.run(world.stdio), ending);
    record('harness ended', { code });
    return code;
  } catch (error) {
    if (ending.code !== null) return ending.code;
    throw error;
  } finally {
    await teardown.run();
  }
}

/** The runtime, or why there is to be none: whatever it says of a start that was called off is not what is told. */
async function prepared(
  ground: Ground,
  spec: LaunchSpec,
  say: Progress,
  halt: AbortSignal,
): Promise<Started> {
  try {
    return await ground.choice.runtime.prepare(spec, say, halt);
  } catch (error) {
    halt.throwIfAborted();
    throw error;
  }
}

/** Last, so that the link is what the operator sees before the harness has the terminal. Without it a session can be used. */
async function servePage(
  session: Session,
  ground: Ground,
  world: UpWorld,
  teardown: Teardown,
): Promise<void> {
  const { snapshot, configFile } = ground;
  try {
    const page = await world.admin?.({ snapshot, configFile, session: session.state.name });
    if (page === undefined || page === null) return;
    teardown.push("the operator's page", () => page.close());
    world.note(`the operator's page, for one login: ${page.link}`);
  } catch (error) {
    if (!(error instanceof WraptoolError) || error.code === 'internal') throw error;
    world.warn(`${error.message}${error.hint === undefined ? '' : ` (${error.hint})`}`);
  }
}

/** What was found inside, as the harness's user: what is a fault ends the start, what is a warning is said. */
async function judge(
  findings: readonly Finding[],
  session: Session,
  world: UpWorld,
  gateways: Gateways,
): Promise<void> {
  recordEvent(session.dir, 'preflight', { findings });
  await session.update({ preflight: findings });
  assertNoFault(findings);
  await gateways.proven(proofOfFindings(findings));
  for (const finding of findings) if (finding.level === 'warning') world.warn(findingLine(finding));
}

/** What dead sessions left goes first: one may have the name, or the container's name, that this one wants. */
async function reclaimed(world: UpWorld): Promise<void> {
  const reclaim = () => reclaimDead(world.env, (error) => world.warn(error.message));
  const dead = (await listSessions(world.env)).some(({ alive }) => !alive);
  for (const line of await (dead ? world.step('reclaim', reclaim) : reclaim())) world.note(line);
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
